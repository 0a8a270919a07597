// Does with every pod what the pod's annotation asks for. The host's tests of this SDK use it.

import {
  eventData, HostError, hostInfo, http, indexer, kube, log, metrics, never, plugin, state, workqueue,
} from "informant-plugin";

const kindOf = (f) => {
  try {
    f();
    return "none";
  } catch (error) {
    return error instanceof HostError ? error.kind : `${error}`;
  }
};

function use(event) {
  const { namespace } = event;
  const listed = [
    ...indexer.list("v1/pods", { namespace, labels: "app=sdk" }),
    ...indexer.byIndex("v1/pods", "app", "sdk"),
    ...indexer.indexKeys("v1/pods", "app", "sdk"),
    ...indexer.indexValues("v1/pods", "app"),
  ];
  state.set("a", { b: 2 });
  metrics.counterAdd("sdk_total", { language: "js" });
  metrics.gaugeSet("sdk_gauge", {}, 2);
  metrics.histogramObserve("sdk_seconds", {}, 3);
  workqueue.add(event.key);
  log.info("used", {
    name: eventData.field("/metadata/name"),
    none: indexer.get("v1/pods", { namespace, name: "none" }) === null,
    app: indexer.fields("v1/pods", event.key, ["/metadata/labels/app", "/none"]).join("+"),
    found: listed.length > 3,
    value: state.get("a").b,
    keys: state.keys().length,
    pods: indexer.count("v1/pods") > 0,
    synced: indexer.hasSynced("v1/pods"),
    leader: hostInfo.isLeader(),
    plugin: hostInfo.pluginName(),
    old: event.old === null,
    refused: kindOf(() => indexer.get("v1/nothing", event.key)),
    denied: kindOf(() => kube.patch("v1/pods", event.key, {})),
    closed: kindOf(() => http.send({ url: "https://example.com", headers: { a: "b" } })),
  });
}

const does = {
  fail() {
    throw never(new Error("asked to fail"));
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

let fired = false;

export const { lifecycle, handler, reconciler, timer, syncAware, stateful } = plugin({
  describe: {
    version: "0.1.0",
    subscriptions: [{ resource: "v1/pods", withOld: true }],
    indexes: [{ resource: "v1/pods", name: "app", pointer: "/metadata/labels/app" }],
    schedules: [{ name: "soon", every: "1s" }],
  },
  handle(event) {
    if (event.change !== "added") return;
    const asked = does[event.object.metadata.annotations?.does];
    if (asked) asked(event);
    else console.log("well", { pod: event.key });
  },
  reconcile(key, attempt) {
    log.info("reconciled", { attempt, waiting: workqueue.len() });
  },
  fire(schedule, at) {
    if (!fired) log.info("fired", { schedule, ago: Date.now() - at < 3_600_000 });
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
