import assert from "node:assert/strict";
import test from "node:test";
import { Host } from "informant-plugin/testing";
import { incidents } from "./incidents.js";
import { empty, isWaiting, note } from "./ledger.js";
import { text } from "./message.js";
import * as plugin from "./plugin.js";

const PODS = "v1/pods";
const URL = "https://hooks.slack.com/services/T1/B2/s3cret";
const START = Date.UTC(2026, 0, 1);
const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const GROUP_WAIT = 30 * SECOND;

const ended = (reason, exitCode = 1, message = "") => ({ terminated: { reason, exitCode, message } });
const crashing = (restartCount, name = "app") => ({
  name, restartCount, state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: ended("Error", 1, "no config\n"),
});
const killed = (restartCount, name = "app") => ({ name, restartCount, state: { running: {} }, lastState: ended("OOMKilled", 137) });

const replicaSet = (namespace = "shop") => ({
  metadata: { namespace, name: "web-5d8f", ownerReferences: [{ kind: "Deployment", name: "web", controller: true }] },
});

const pod = (name, statuses, { namespace = "shop", owner = { kind: "ReplicaSet", name: "web-5d8f", controller: true }, ...more } = {}) => ({
  metadata: { namespace, name, uid: `${name}-of-a-uid`, ...(owner && { ownerReferences: [owner] }), ...more },
  status: { containerStatuses: statuses },
});

/** A host whose time passes as the test says, with a webhook that takes everything. */
function started(t, config = {}, before = null) {
  if (before === null) t.mock.method(Date, "now", () => START);
  const host = new Host(plugin, { url: URL, ...config }, before);
  host.put("apps/v1/replicasets", replicaSet());
  host.answerRequest = () => ({ status: 200, body: new TextEncoder().encode("ok") });
  const sent = () => host.requests.map(({ body }) => JSON.parse(new TextDecoder().decode(body)).text);
  return { host, sent };
}

/** Lets the wait for an owner's other pods pass, and then works on the owners' keys. */
function told(host) {
  host.wait(GROUP_WAIT);
  return host.reconcile();
}

/** The keys that wait for other pods of their owners. */
const waiting = (host) => Object.keys(host.delayed);

test("a crash loop is told of its owner, after the restarts that are allowed", (t) => {
  const { host, sent } = started(t, { channel: "#ops" });
  assert.equal(host.add(PODS, pod("web-1", [crashing(2)])), null);
  assert.deepEqual(waiting(host), []);
  assert.equal(host.add(PODS, pod("web-1", [crashing(3)])), null);
  assert.deepEqual([host.keys, host.delayed], [[], { "Deployment shop/web": GROUP_WAIT }]);
  assert.deepEqual(told(host), {});
  assert.deepEqual(sent(), ["Deployment shop/web: app keeps crashing in web-1 (restarted 3 times, exit code 1 (Error)): no config"]);
  const [{ method, url, body }] = host.requests;
  assert.deepEqual([method, url, JSON.parse(new TextDecoder().decode(body)).channel], ["POST", URL, "#ops"]);
});

test("pods of one owner are one message, and long lists are cut short", (t) => {
  const { host, sent } = started(t);
  for (let i = 1; i <= 7; i++) host.add(PODS, pod(`web-${i}`, [crashing(3), killed(1, "cache")]));
  told(host);
  const five = "web-1, web-2, web-3, web-4, web-5 and 2 more";
  assert.deepEqual(sent(), [
    `Deployment shop/web:\n• app keeps crashing in ${five} (restarted 3 times, exit code 1 (Error)): no config\n` +
      `• cache was killed for memory in ${five} (restarted once, exit code 137 (OOMKilled))`,
  ]);
});

test("nothing is told twice, also after a reload", (t) => {
  const { host, sent } = started(t);
  host.add(PODS, pod("web-1", [crashing(3)]));
  told(host);
  const { host: next } = started(t, {}, host);
  for (const minutes of [1, 29, 29]) {
    next.wait(minutes * MINUTE);
    next.add(PODS, pod("web-1", [crashing(3)]));
    next.add(PODS, pod("web-1", [crashing(3 + minutes)]));
    assert.deepEqual(waiting(next), [], `${minutes}`);
  }
  next.wait(MINUTE);
  next.add(PODS, pod("web-1", [crashing(32)]));
  assert.deepEqual(waiting(next), [], "it is the same end as before");
  next.add(PODS, pod("web-1", [crashing(63)]));
  told(next);
  assert.equal(sent().length, 2);
});

test("what a host left untold is told by the next", (t) => {
  const { host } = started(t);
  host.add(PODS, pod("web-1", [crashing(3)]));
  host.wait(GROUP_WAIT);
  host.keys.length = 0;
  const next = started(t, {}, host);
  next.host.add(PODS, pod("other-1", [killed(1)], { owner: null }));
  assert.deepEqual(waiting(next.host), ["Deployment shop/web", "Pod shop/other-1"]);
});

test("messages wait for their minute", (t) => {
  const { host, sent } = started(t, { messagesPerMinute: 2 });
  for (const name of ["a", "b", "c"]) host.add(PODS, pod(name, [killed(1)], { owner: null }));
  assert.deepEqual(told(host), { "Pod shop/c": MINUTE });
  assert.equal(sent().length, 2);
  host.wait(MINUTE - 1);
  host.add(PODS, pod("c", [killed(2)], { owner: null }));
  assert.deepEqual(host.keys, []);
  host.wait(1);
  assert.deepEqual(host.reconcile(), {});
  assert.match(sent()[2], /^Pod shop\/c: app was killed for memory in c \(restarted 2 times/);
});

/** What comes of an answer of the webhook: the failure, after which it is told by the next attempt. */
function checkRefused(t, answer, message, retry = { tag: "backoff" }) {
  const { host, sent } = started(t);
  host.add(PODS, pod("web-1", [crashing(3)]));
  host.answerRequest = () => ({ ...answer, body: new TextEncoder().encode(answer.text ?? "") });
  assert.throws(() => told(host), { message, retry });
  host.answerRequest = () => ({ status: 204 });
  host.wait(retry.val ?? SECOND);
  assert.deepEqual(host.reconcile(), {});
  assert.equal(sent().length, 2);
}

test("a webhook that refuses is asked again", (t) => {
  checkRefused(t, { status: 404, text: "no_service" }, "the webhook answered with status 404: no_service");
  checkRefused(t, { status: 200, text: '{"ok":false,"error":"not_in_channel"}' }, 'the webhook refused the message: {"ok":false,"error":"not_in_channel"}');
  const busy = "the webhook wants to be asked less often";
  checkRefused(t, { status: 429, headers: [["retry-after", "7"]] }, busy, { tag: "after-ms", val: 7_000 });
  checkRefused(t, { status: 429 }, busy, { tag: "after-ms", val: 30_000 });
});

/** How long another owner waits once so many requests have been answered so. */
function checkOthersWait(t, answer, requests, wait) {
  const { host, sent } = started(t, { messagesPerMinute: 2 });
  for (const name of ["a", "b"]) host.add(PODS, pod(name, [killed(1)], { owner: null }));
  host.answerRequest = () => answer;
  for (let i = 0; i < requests; i++) {
    host.keys.splice(0, host.keys.length, "Pod shop/a");
    assert.throws(() => host.reconcile());
  }
  host.answerRequest = () => ({ status: 204 });
  host.keys.splice(0, host.keys.length, "Pod shop/b");
  assert.deepEqual(host.reconcile(), { "Pod shop/b": wait });
  assert.equal(sent().length, requests);
  host.keys.length = 0;
  host.wait(wait);
  host.keys.splice(0, host.keys.length, "Pod shop/b");
  assert.deepEqual(host.reconcile(), {});
  assert.equal(sent().length, requests + 1);
}

test("a webhook that fails is asked no more often than one that does not", (t) => {
  checkOthersWait(t, { status: 500 }, 2, MINUTE);
  checkOthersWait(t, { status: 429, headers: [["retry-after", "7"]] }, 1, 7 * SECOND);
});

/** To whom a pod's incidents are put down. */
function checkOwner(t, owner, above, expect) {
  const { host } = started(t);
  for (const [resource, object] of above) host.put(resource, object);
  host.add(PODS, pod("x-1", [killed(1)], { owner }));
  assert.deepEqual(waiting(host), [expect]);
}

test("owners are those that people know", (t) => {
  checkOwner(t, null, [], "Pod shop/x-1");
  checkOwner(t, { kind: "StatefulSet", name: "db", controller: true }, [], "StatefulSet shop/db");
  checkOwner(t, { kind: "ReplicaSet", name: "gone-1", controller: true }, [], "ReplicaSet shop/gone-1");
  checkOwner(t, { kind: "Node", name: "a" }, [], "Pod shop/x-1");
  const job = { metadata: { namespace: "shop", name: "night-1", ownerReferences: [{ kind: "CronJob", name: "night", controller: true }] } };
  checkOwner(t, { kind: "Job", name: "night-1", controller: true }, [["batch/v1/jobs", job]], "CronJob shop/night");
});

test("a pod that says so is left alone", (t) => {
  const { host } = started(t);
  host.add(PODS, pod("web-1", [crashing(9)], { annotations: { "informant.dev/restart-alert": "off" } }));
  assert.deepEqual(waiting(host), []);
});

test("pods that go are forgotten", (t) => {
  const { host } = started(t);
  host.add(PODS, pod("web-1", [crashing(3)]));
  told(host);
  host.delete(PODS, pod("web-1", [crashing(3)]));
  // Another pod of that name and UID would be a new one; what was told of the owner is still known.
  host.add(PODS, pod("web-1", [crashing(3)]));
  assert.deepEqual(waiting(host), []);
  assert.equal(host.series.get("restart_alert_incidents_total{kind=crash-loop}"), 2);
});

test("as many owners are kept as may be, and room is made", (t) => {
  const { host } = started(t);
  const one = (name) => host.add(PODS, pod(name, [killed(1)], { owner: null }));
  for (let i = 0; i < plugin.OWNERS_MAX; i++) one(`p-${i}`);
  one("more");
  assert.equal(waiting(host).includes("Pod shop/more"), false, "all of them wait to be told");
  assert.equal(host.series.get("restart_alert_dropped_total{}"), 1);
  // Two are told; the one that was told first makes room.
  for (const late of [0, 1]) {
    host.keys.splice(0, host.keys.length, `Pod shop/p-${late}`);
    host.reconcile();
    host.wait(SECOND);
  }
  one("more");
  assert.equal(waiting(host).includes("Pod shop/more"), true);
  host.wait(HOUR);
  host.keys.length = 0;
  one("even-more");
  assert.deepEqual(waiting(host), ["Pod shop/even-more"]);
});

test("without a webhook messages are lines of the log", (t) => {
  const { host } = started(t, { url: "" });
  host.add(PODS, pod("web-1", [killed(1)]));
  told(host);
  assert.equal(host.lines.at(-1), "warn Deployment shop/web: app was killed for memory in web-1 (restarted once, exit code 137 (OOMKilled))");
  assert.deepEqual([host.requests, host.descriptor.http], [[], undefined]);
});

test("the descriptor asks for the webhook, and does not show what may be a token", (t) => {
  const { host } = started(t);
  assert.deepEqual(host.descriptor.http, [{ origins: ["https://hooks.slack.com"], methods: ["POST"], addresses: ["public"], paths: ["/services"] }]);
  assert.equal(host.descriptor.subscriptions[0].filter.length < 2_048, true);
  const plain = started(t, { url: "http://alerts.ops.svc:8080?x=1", addresses: "private" }).host;
  assert.deepEqual(plain.descriptor.http, [{ origins: ["http://alerts.ops.svc:8080"], methods: ["POST"], addresses: ["private"] }]);
});

/** Why it cannot be configured so. */
function checkSettings(config, expect) {
  assert.throws(() => new Host(plugin, config), (reason) => reason.includes(expect), JSON.stringify(config));
}

test("settings are within their bounds", () => {
  for (const good of [{ groupWait: "1s" }, { groupWait: "10m" }, { repeatAfter: "168h" }, { restarts: 1_000 }, { messagesPerMinute: 600 }]) new Host(plugin, good);
  checkSettings({ groupWait: "0s" }, "`groupWait` is \"0s\"");
  checkSettings({ groupWait: "601s" }, "`groupWait` is \"601s\"");
  checkSettings({ groupWait: "soon" }, "`groupWait` is \"soon\"");
  checkSettings({ repeatAfter: "169h" }, "`repeatAfter` is \"169h\"");
  checkSettings({ restarts: 0 }, "`restarts` is 0");
  checkSettings({ restarts: 1_001 }, "`restarts` is 1001");
  checkSettings({ messagesPerMinute: 601 }, "`messagesPerMinute` is 601");
  checkSettings({ addresses: "all" }, "`addresses` is \"all\"");
  checkSettings({ namespaces: "shop" }, "`namespaces` is \"shop\"");
  checkSettings({ slack: URL }, "`slack` is no setting");
  for (const url of ["hooks.slack.com", "ftp://a.b", "https://user@a.b/x", "https://"]) checkSettings({ url }, "`url` is no URL");
});

/** The kinds and numbers of what is found. */
function checkIncidents(statuses, expect) {
  assert.deepEqual(incidents(statuses, 3).map(({ kind, ended: times }) => `${kind} ${times}`), expect);
}

test("an end is the same end while its container waits, and when it runs again", () => {
  const oom = ended("OOMKilled", 137);
  checkIncidents([{ name: "a", restartCount: 0, state: oom }], ["oom-kill 1"]);
  checkIncidents([{ name: "a", restartCount: 0, state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: oom }], ["oom-kill 1"]);
  checkIncidents([{ name: "a", restartCount: 1, state: { running: {} }, lastState: oom }], ["oom-kill 1"]);
  checkIncidents([crashing(3), crashing(2, "b")], ["crash-loop 4"]);
  checkIncidents([{ name: "a", restartCount: 9, state: { running: {} }, lastState: ended("Error") }, { name: "b", restartCount: 0 }], []);
});

test("what one owner's record may hold is bounded", () => {
  const record = empty();
  for (let i = 0; i < 60; i++) note(record, { uid: `${i}`.padStart(8, "0"), name: `p-${i}` }, incidents([killed(1, `c-${i}`)], 3), START, HOUR);
  assert.deepEqual([Object.keys(record.seen).length, Object.keys(record.waiting).length, isWaiting(record)], [50, 8, true]);
  assert.equal(text("Pod a/b", record.waiting).split("\n").length, 9);
});

test("Slack's own characters are escaped", (t) => {
  const { host, sent } = started(t);
  const status = crashing(3);
  status.lastState.terminated.message = "<!channel> & more";
  host.add(PODS, pod("web-1", [status]));
  told(host);
  assert.match(sent()[0], /: &lt;!channel&gt; &amp; more$/);
});
