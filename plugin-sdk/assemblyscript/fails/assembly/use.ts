// Calls every function of the host once.

import {
  Event, Failure, Json, Key, PatchType, Problem, Request, Side, eventData, hostInfo, http, indexer, kube, log, metrics, state, utf8, workqueue,
} from "informant-plugin-assemblyscript";

/** The number of objects that all kinds of reads find. */
function found(space: string): i32 {
  let count = 0;
  const pods = indexer.list("v1/pods", space, "app=sdk");
  while (pods.next()) count += i32(pods.item.at("/metadata/labels/app").asText() == "sdk");
  const same = indexer.byIndex("v1/pods", "app", "sdk");
  while (same.next()) count += i32(same.item.isObject);
  const keys = indexer.indexKeys("v1/pods", "app", "sdk");
  while (keys.next()) count += i32(keys.item.name != "");
  const values = indexer.indexValues("v1/pods", "app");
  while (values.next()) count += i32(values.item == "sdk");
  return pods.ok && same.ok && keys.ok && values.ok ? count : -1;
}

function kindOf(problem: Problem | null): string {
  return problem === null ? "none" : problem.kind;
}

/** Calls without a grant. */
function refused(key: Key): string[][] {
  const patched = kube.patch("v1/pods", key, PatchType.Merge, Json.raw("{}"));
  const forced = kube.patch("v1/pods", key, PatchType.ForceApply, Json.object().set("kind", "Pod"), "status");
  const created = kube.create("v1/pods", new Key(key.namespace, ""), Json.object());
  const updated = kube.update("v1/pods", key, Json.object());
  const recorded = kube.recordEvent("v1/pods", key, "Tried", "a message", true);
  const answer = http.send(new Request("GET", "https://example.com").header("a", "b").timeout(1000));
  const kinds = [
    kindOf(patched.problem), kindOf(forced.problem), kindOf(created.problem), kindOf(updated.problem), kindOf(recorded),
    kindOf(kube.remove("v1/pods", key, "a-uid")),
  ];
  return [
    ["refused", kindOf(indexer.get("v1/nothing", key).problem)],
    ["denied", kinds.join("+")],
    ["closed", kindOf(answer.problem)],
  ];
}

export function use(event: Event): Failure | null {
  const space = event.key.namespace;
  const fields = indexer.fields("v1/pods", event.key, ["/metadata/labels/app", "/none"]);
  if (!fields.ok) return fields.failure();
  const values = fields.value;
  const problems = [
    state.setText("a", "1"),
    metrics.counterAdd("sdk_total", [["language", "assemblyscript"]]),
    metrics.gaugeSet("sdk_gauge", [], 2),
    metrics.histogramObserve("sdk_seconds", [], 3),
  ];
  for (let i = 0; i < problems.length; i++) {
    const problem = problems[i];
    if (problem !== null) return problem.failure();
  }
  const swapped = state.compareAndSet("a", utf8.encode("1"), utf8.encode("2")).value;
  const kept = state.getText("a").value;
  workqueue.add(event.key.toString());
  const lines = refused(event.key);
  log.info("used", [
    ["name", eventData.field("/metadata/name").asText()],
    ["both", eventData.fields(["/metadata/name", "/none"]).length.toString()],
    ["whole", eventData.object().at("/metadata/name").asText()],
    ["changed", eventData.changed("/metadata/name").toString()],
    ["none", indexer.get("v1/pods", new Key(space, "none")).value.isNothing.toString()],
    ["app", values === null ? "null" : `${values[0].asText()}+${values[1].isNothing}`],
    ["found", (found(space) > 3).toString()],
    ["swapped", swapped.toString()],
    ["value", kept === null ? "null" : kept],
    ["keys", state.keys().value.length.toString()],
    ["pods", (indexer.count("v1/pods").value > 0).toString()],
    ["synced", indexer.hasSynced("v1/pods").value.toString()],
    ["leader", hostInfo.isLeader().toString()],
    ["plugin", hostInfo.pluginName()],
    ["shard", `${hostInfo.shard().number}/${hostInfo.shard().count}`],
    ["version", (hostInfo.hostVersion().length > 0).toString()],
    ["old", (event.old.isNothing && eventData.object(Side.Old).isNothing).toString()],
    lines[0], lines[1], lines[2],
  ]);
  return null;
}
