// The golden plugin in JavaScript. Its twins in the other languages do the same, call by call.

import {
  after, eventData, hostInfo, http, indexer, kube, log, metrics, never, plugin, state, workqueue,
} from "informant-plugin";

const PODS = "v1/pods";
const APP = "/metadata/labels/app";
const ORIGIN = "https://golden.example";

/** An error without a stack, which would be a line of the log that no other language has. */
function quiet(error) {
  error.stack = "";
  return error;
}

/** Everything that reads and counts. */
function read(event) {
  const app = eventData.field(APP);
  const fields = indexer.fields(PODS, event.key, [APP, "/none"]);
  const absent = indexer.get(PODS, "shop/absent");
  const found = [
    [...indexer.list(PODS, { namespace: "shop", labels: "app=web" })].length,
    [...indexer.byIndex(PODS, "app", "web")].length,
    [...indexer.indexKeys(PODS, "app", "web")].length,
    [...indexer.indexValues(PODS, "app")].length,
    indexer.count(PODS),
  ];
  const synced = indexer.hasSynced(PODS) ? "yes" : "no";
  const seen = (state.get("seen") ?? 0) + 1;
  state.set("seen", seen);
  const kept = state.keys().length;
  metrics.counterAdd("golden_total", { app });
  metrics.gaugeSet("golden_pods", {}, 2);
  metrics.histogramObserve("golden_seconds", {}, 0.5);
  workqueue.add(event.key);
  const none = absent === null && fields[1] === null ? "none" : "there";
  log.info("read", { app, found: found.join(" "), absent: none, synced, seen, kept, plugin: hostInfo.pluginName() });
}

/** Everything that is sent. */
function write(event) {
  const labels = eventData.changed("/metadata/labels") ? "changed" : "the same";
  kube.patch(PODS, event.key, { metadata: { annotations: { golden: "seen" } } });
  const answer = http.send({ method: "POST", url: `${ORIGIN}/pods`, body: event.key });
  log.warn("sent", { labels, status: answer.status, answer: answer.text() });
}

export const { lifecycle, handler, reconciler, timer, syncAware, stateful } = plugin({
  describe: {
    version: "0.1.0",
    subscriptions: [
      { resource: PODS, withOld: true },
      { resource: "v1/configmaps", enqueue: [{ self: true, prefix: "config/" }] },
    ],
    indexes: [{ resource: PODS, name: "app", pointer: APP }],
    writes: [{ resource: PODS, verbs: ["patch"] }],
    http: [{ origins: [ORIGIN], methods: ["POST"] }],
    schedules: [{ name: "minutely", every: "60s" }],
  },
  start(config) {
    log.info("started", { greeting: config.greeting });
  },
  handle(event) {
    if (event.name === "fails" && event.attempt === 1) throw quiet(after("asked to fail", 50));
    if (event.name === "gives-up") throw quiet(never("asked to give up"));
    const { change, reason, key } = event;
    log.info("told", { change, reason, key, old: event.old === null ? "none" : "there" });
    if (change === "added") read(event);
    if (change === "updated") write(event);
  },
  reconcile(key, attempt) {
    log.info("reconciled", { key, attempt, waiting: workqueue.len() });
    const once = `once/${key}`;
    if (state.get(once) !== null) return null;
    state.set(once, attempt);
    return 1000;
  },
  fire(schedule, at) {
    log.info("fired", { schedule, at: at.getTime() });
  },
  synced(subscription) {
    log.info("synced", { subscription });
  },
  snapshot: () => "carried",
  restore(from) {
    log.info("restored", { from });
  },
  stop() {
    log.info("stopped");
  },
});
