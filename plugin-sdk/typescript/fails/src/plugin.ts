// Does with every pod what the pod's annotation asks for, and uses all of the SDK with its types. The tests of the
// declarations and the host's tests of this SDK use it.

import {
  after, eventData, HostError, hostInfo, http, indexer, kube, log, metrics, never, plugin, state, workqueue,
  type Change, type Descriptor, type Event, type Json, type KubernetesObject,
} from "informant-plugin";

interface Pod extends KubernetesObject {
  spec: { nodeName?: string };
}

const kindOf = (f: () => unknown): string => {
  try {
    f();
    return "none";
  } catch (error) {
    if (!(error instanceof HostError)) return `${error}`;
    // The kind decides the type of the detail.
    if (error.kind === "status") return `${error.detail.code satisfies number} ${error.detail.reason}`;
    if (error.kind === "not-granted") error.detail satisfies string;
    return error.kind;
  }
};

function found(event: Event<Pod>): (KubernetesObject | string)[] {
  const { namespace } = event;
  const names: string[] = [...indexer.indexKeys("v1/pods", "app", "sdk")].map((key) => `${key.namespace}/${key.name}`);
  const pods: Pod[] = [
    ...indexer.list<Pod>("v1/pods", { namespace, labels: "app=sdk" }),
    ...indexer.byIndex<Pod>("v1/pods", "app", "sdk"),
  ];
  return [...pods, ...names, ...indexer.indexValues("v1/pods", "app")];
}

function count(): void {
  metrics.counterAdd("sdk_total", { language: "typescript" });
  metrics.counterAdd("sdk_total", { language: "typescript" }, 0);
  metrics.gaugeSet("sdk_gauge", {}, 2);
  metrics.histogramObserve("sdk_seconds", {}, 3);
}

function queue(key: string): number {
  workqueue.add(key);
  workqueue.addAfter(key, 1.5);
  workqueue.addRateLimited(key);
  workqueue.forget(key);
  return workqueue.numRequeues(key) + workqueue.len();
}

function store(): { value: number | undefined; keys: string[]; swapped: boolean } {
  state.set("a", { b: 1 });
  const swapped = state.compareAndSet("a", { b: 1 }, { b: 2 }) && !state.compareAndSet("a", null, { b: 3 });
  return { value: state.get<{ b: number }>("a")?.b, keys: state.keys("a"), swapped };
}

function write(event: Event<Pod>): string[] {
  const config = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
  return [
    () => kube.create<Pod>("v1/pods", event.key, config).spec,
    () => kube.update("v1/pods", event, JSON.stringify(config), "status").metadata.name satisfies string,
    () => kube.patch("v1/pods", event.object.metadata, {}, "force-apply"),
    () => kube.delete("v1/pods", event.key, event.uid),
    () => kube.recordEvent("v1/pods", event.key, "Used", "the pod was used", { warning: true }),
  ].map(kindOf);
}

function send(): number {
  const answer = http.send({ method: "POST", url: "https://example.com", headers: { a: "b" }, body: { a: 1 }, timeoutMs: 5 });
  const { ok } = answer.json<{ ok: boolean }>();
  return ok ? answer.status : answer.text().length + answer.body.length + Object.keys(answer.headers).length;
}

function use(event: Event<Pod>) {
  const { value, keys, swapped } = store();
  count();
  const fields: Json[] | null = indexer.fields("v1/pods", event.key, ["/metadata/labels/app", "/none"]);
  const shard: { number: number; count: number } = hostInfo.shard();
  log.info("used", {
    name: eventData.field<string>("/metadata/name"),
    none: indexer.get<Pod>("v1/pods", { namespace: event.namespace, name: "none" }) === null,
    app: fields?.join("+"),
    of: eventData.fields(["/metadata/name"], "old").length,
    same: eventData.object<Pod>("new")?.metadata.name === event.name && eventData.changed("/metadata"),
    found: found(event).length > 3,
    value,
    keys: keys.length,
    swapped,
    queued: queue(event.key) > 0,
    pods: indexer.count("v1/pods", event.namespace) > 0,
    synced: indexer.hasSynced("v1/pods"),
    leader: hostInfo.isLeader(),
    plugin: hostInfo.pluginName(),
    version: hostInfo.hostVersion().split(".").length,
    shard: `${shard.number}/${shard.count}`,
    old: event.old === null,
    refused: kindOf(() => indexer.get("v1/nothing", event.key)),
    denied: write(event).join(),
    closed: kindOf(send),
  });
}

const does: { [asked: string]: (event: Event<Pod>) => void } = {
  fail() {
    throw never(new Error("asked to fail"));
  },
  wait() {
    throw after("asked to wait", 50);
  },
  panic(event) {
    throw new Error(`asked to panic by ${event.name}`);
  },
  look() {
    const now = Date.now();
    log.info("looked", { environment: 0, clock: now > 1.6e12, random: Math.random() !== Math.random() });
  },
  use,
};

const descriptor: Descriptor = {
  version: "0.1.0",
  subscriptions: [{ resource: "v1/pods", withOld: true }],
  indexes: [{ resource: "v1/pods", name: "app", pointer: "/metadata/labels/app" }],
  schedules: [{ name: "soon", every: "1s" }],
};

let fired = false;

export const { lifecycle, handler, reconciler, timer, syncAware, stateful } = plugin({
  describe: (config: { quiet?: boolean }) => descriptor,
  start(config) {
    if (config.quiet) log.debug("quiet");
  },
  handle(event: Event<Pod>) {
    const change: Change = event.change;
    if (change !== "added") return;
    const asked = does[event.object.metadata.annotations?.does ?? ""];
    if (asked) asked(event);
    else console.log("well", { pod: event.key });
  },
  stop() {
    log.trace("stopped");
  },
  reconcile(key, attempt) {
    log.info("reconciled", { attempt, waiting: workqueue.len(), key });
  },
  fire(schedule, at) {
    if (!fired) log.info("fired", { schedule, ago: Date.now() - at.getTime() < 3_600_000 });
    fired = true;
  },
  synced(subscription) {
    log.info("synced", { subscription });
  },
  snapshot: () => ({ fired }),
  restore(from, known) {
    fired = known.fired;
    log.info("restored", { from });
  },
});
