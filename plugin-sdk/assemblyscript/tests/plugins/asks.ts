// Logs its events, and the host's answers to writes, requests and reads.

import {
  Config, Descriptor, Event, Failure, Json, Key, PatchType, Problem, Reconciled, Request, Result, Side, Subscription,
  done, eventData, failed, http, indexer, kube, log, metrics, state, workqueue,
} from "informant-plugin-assemblyscript";

let kept: Event | null = null;

export function describe(config: Config): Descriptor {
  return new Descriptor("1").subscribe(new Subscription("v1/pods").withOld()).subscribe(new Subscription("v1/nodes").delivery("lazy"))
    .index("v1/pods", "app", "/metadata/labels/app");
}

export function handle(event: Event): Failure | null {
  const before = kept;
  if (before !== null) return Failure.never(before.object.toString());
  if (event.key.name == "kept") kept = event;
  if (event.key.name == "unread") {
    kept = event;
    return null;
  }
  const gone = event.gone == "" ? "there" : event.gone;
  log.info(`${event.seq} ${event.subscription} ${event.change} ${event.reason} ${event.key} ${event.uid} ${event.resourceVersion} ${gone} ${event.coalesced} ${event.attempt}`);
  log.info(`object ${event.object} ${event.object.at("/metadata/name")}`);
  const text = event.objectText;
  const old = event.oldText;
  log.info(`texts ${text === null ? "none" : text} ${old === null ? "none" : old}`);
  log.info(`old ${event.old} data ${eventData.field("/metadata/name")} ${eventData.field("/metadata/name", Side.Old)} ${eventData.changed("/metadata/labels")}`);
  return null;
}

function told(problem: Problem | null): string {
  if (problem === null) return "done";
  return `${problem} | ${problem.kind} ${problem.code} ${problem.reason} ${problem.retryAfterMs}`;
}

function written(result: Result<Json>): string {
  return result.ok ? result.value.toString() : told(result.problem);
}

function fetched(text: string): string {
  const request = new Request("POST", "https://a.example/x").header("x-a", "1").json(Json.object().set("a", text)).timeout(5);
  const result = http.send(request);
  if (!result.ok) return told(result.problem);
  const response = result.value;
  const none = response.header("none");
  const json = response.json();
  const body = json.ok ? json.value.toString() : told(json.problem);
  return `${response.status} ${response.headers} ${response.header("b")!} ${none === null} ${response.text()} ${body}`;
}

function paged(): string {
  const all: string[] = [];
  const pods = indexer.list("v1/pods");
  while (pods.next()) all.push(pods.item.at("/metadata/name").asText());
  const values = indexer.indexValues("v1/pods", "app");
  while (values.next()) all.push(values.item);
  const keys = indexer.indexKeys("v1/pods", "app", "a");
  while (keys.next()) all.push(keys.item.toString());
  const refused = indexer.byIndex("v1/pods", "none", "a");
  all.push(refused.next().toString());
  all.push(told(refused.problem));
  all.push(refused.next().toString());
  const unfit = indexer.count("v1/pods", "nowhere");
  all.push(unfit.or(7).toString());
  const absent = indexer.fields("v1/pods", new Key("", "none"), ["/a"]);
  all.push((absent.ok && absent.value === null).toString());
  return all.join(" ");
}

function stored(): string {
  const first = state.setText("k", "söhne");
  const swapped = state.compareAndSet("k", null, null);
  const found = state.getText("k").value;
  state.set("k", null);
  return `${told(first)} ${swapped.value} ${found === null ? "none" : found} ${state.getText("k").value === null} ${state.keys("k").value.length}`;
}

function queued(): string {
  workqueue.addAfter("later", 5);
  workqueue.addRateLimited("limited");
  workqueue.forget("later");
  return `${workqueue.len()} ${workqueue.numRequeues("later")}`;
}

export function reconcile(key: string, attempt: u32): Reconciled {
  const web = new Key("shop", "web");
  const before = kept;
  if (key == "late" && before !== null) log.info(before.object.toString());
  if (key == "create") log.info(written(kube.create("v1/pods", web, Json.object().set("a", 1), "binding")));
  else if (key == "update") log.info(written(kube.update("v1/pods", web, Json.object())));
  else if (key == "patch") log.info(written(kube.patch("v1/pods", web, PatchType.JsonPatch, Json.array().push(Json.object().set("op", "test")))));
  else if (key == "strategic") log.info(written(kube.patch("v1/pods", web, PatchType.Strategic, Json.object())));
  else if (key == "apply") log.info(written(kube.patch("v1/pods", web, PatchType.Apply, Json.object())));
  else if (key == "delete") log.info(told(kube.remove("v1/pods", web)));
  else if (key == "event") log.info(told(kube.recordEvent("v1/pods", web, "Why", "what")));
  else if (key == "fetch") log.info(fetched("söhne"));
  else if (key == "pages") log.info(paged());
  else if (key == "state") log.info(stored());
  else if (key == "queue") log.info(queued());
  else if (key == "series") log.info(told(metrics.gaugeSet("", [["a", "b"]], 1)));
  else if (key == "fail") {
    const problem = kube.remove("v1/pods", web);
    if (problem !== null) return failed(problem.failure());
  }
  return done();
}
