// The golden plugin in AssemblyScript. Its twins in the other languages do the same, call by call.

import {
  again, Change, Config, Descriptor, done, Enqueue, Event, eventData, failed, Failure, hostInfo, http, indexer, Json, Key, kube, log, metrics, PatchType,
  Problem, Reconciled, Request, Result, state, Subscription, utf8, workqueue,
} from "informant-plugin-assemblyscript";

const PODS = "v1/pods";
const APP = "/metadata/labels/app";
const ORIGIN = "https://golden.example";

export function describe(config: Config): Descriptor {
  return new Descriptor("0.1.0")
    .subscribe(new Subscription(PODS).withOld())
    .subscribe(new Subscription("v1/configmaps").enqueue(Enqueue.self().prefix("config/")))
    .index(PODS, "app", APP)
    .write(PODS, ["patch"])
    .http([ORIGIN], ["POST"])
    .every("minutely", "60s");
}

export function start(config: Config): Failure | null {
  log.info("started", [["greeting", config.text("greeting", "")]]);
  return config.failure();
}

export function handle(event: Event): Failure | null {
  if (event.key.name == "fails" && event.attempt == 1) return Failure.after("asked to fail", 50);
  if (event.key.name == "gives-up") return Failure.never("asked to give up");
  const old = event.old.isNothing ? "none" : "there";
  log.info("told", [["change", event.change], ["reason", event.reason], ["key", event.key.toString()], ["old", old]]);
  if (event.change == Change.Added) return read(event);
  if (event.change == Change.Updated) return write(event);
  return null;
}

/** Everything that reads and counts. */
function read(event: Event): Failure | null {
  const app = eventData.field(APP).asText();
  const fields = indexer.fields(PODS, event.key, [APP, "/none"]);
  if (!fields.ok) return fields.failure();
  const values = fields.value;
  const absent = indexer.get(PODS, new Key("shop", "absent"));
  if (!absent.ok) return absent.failure();
  const isNone = values !== null && values[1].isNothing && absent.value.isNothing;
  const found = count();
  if (!found.ok) return found.failure();
  const synced = indexer.hasSynced(PODS);
  if (!synced.ok) return synced.failure();
  const known = state.getText("seen");
  if (!known.ok) return known.failure();
  const before = known.value;
  const seen = ((before === null ? 0 : i64.parse(before)) + 1).toString();
  const refused = keep(seen, app);
  if (refused !== null) return refused.failure();
  const kept = state.keys();
  if (!kept.ok) return kept.failure();
  workqueue.add(event.key.toString());
  log.info("read", [
    ["app", app],
    ["found", found.value],
    ["absent", isNone ? "none" : "there"],
    ["synced", synced.value ? "yes" : "no"],
    ["seen", seen],
    ["kept", kept.value.length.toString()],
    ["plugin", hostInfo.pluginName()],
  ]);
  return null;
}

/** How many there are of what the cache answers in pages, and in all. */
function count(): Result<string> {
  const listed = indexer.list(PODS, "shop", "app=web");
  let listedCount = 0;
  while (listed.next()) listedCount++;
  const filed = indexer.byIndex(PODS, "app", "web");
  let filedCount = 0;
  while (filed.next()) filedCount++;
  const keys = indexer.indexKeys(PODS, "app", "web");
  let keyCount = 0;
  while (keys.next()) keyCount++;
  const values = indexer.indexValues(PODS, "app");
  let valueCount = 0;
  while (values.next()) valueCount++;
  const pods = indexer.count(PODS);
  const problems = [listed.problem, filed.problem, keys.problem, values.problem, pods.problem];
  for (let i = 0; i < problems.length; i++) {
    const problem = problems[i];
    if (problem !== null) return Result.refused<string>(problem);
  }
  return Result.of<string>(`${listedCount} ${filedCount} ${keyCount} ${valueCount} ${pods.value}`);
}

/** What is written down: state and metrics. */
function keep(seen: string, app: string): Problem | null {
  const refused = state.setText("seen", seen);
  if (refused !== null) return refused;
  const counted = metrics.counterAdd("golden_total", [["app", app]]);
  if (counted !== null) return counted;
  const set = metrics.gaugeSet("golden_pods", [], 2);
  if (set !== null) return set;
  return metrics.histogramObserve("golden_seconds", [], 0.5);
}

/** Everything that is sent. */
function write(event: Event): Failure | null {
  const changed = eventData.changed("/metadata/labels") ? "changed" : "the same";
  const patch = Json.object().set("metadata", Json.object().set("annotations", Json.object().set("golden", "seen")));
  const patched = kube.patch(PODS, event.key, PatchType.Merge, patch);
  if (!patched.ok) return patched.failure();
  const sent = http.send(new Request("POST", ORIGIN + "/pods").text(event.key.toString()));
  if (!sent.ok) return sent.failure();
  const answer = sent.value;
  log.warn("sent", [["labels", changed], ["status", answer.status.toString()], ["answer", answer.text()]]);
  return null;
}

export function reconcile(key: string, attempt: u32): Reconciled {
  log.info("reconciled", [["key", key], ["attempt", attempt.toString()], ["waiting", workqueue.len().toString()]]);
  const once = "once/" + key;
  const known = state.get(once);
  const problem = known.problem;
  if (problem !== null) return failed(problem.failure());
  if (known.value !== null) return done();
  const refused = state.setText(once, attempt.toString());
  return refused === null ? again(1000) : failed(refused.failure());
}

export function fire(schedule: string, unixMs: i64): Failure | null {
  log.info("fired", [["schedule", schedule], ["at", unixMs.toString()]]);
  return null;
}

export function synced(subscription: u32): Failure | null {
  log.info("synced", [["subscription", subscription.toString()]]);
  return null;
}

export function snapshot(): Uint8Array | null {
  return utf8.encode('"carried"');
}

export function restore(from: string, data: Uint8Array): Failure | null {
  log.info("restored", [["from", from]]);
  return null;
}

export function stop(): void {
  log.info("stopped");
}
