// Restart-alert tells a webhook of crash loops and OOM kills: one message for each owner, not more than so many a minute, and nothing twice, however
// often it is reloaded.
//
// A pod's change writes what is new into the plugin's state, under its owner, and adds the owner's key for a little later. The key's turn tells all that
// waits by then. What is in the state is of one call: an event or a key that fails comes again, and finds it as it was.

import { after, eventData, http, log, metrics, plugin, state, workqueue } from "informant-plugin";
import { incidents } from "./incidents.js";
import { empty, forget, isOver, isWaiting, lastTold, note, tell } from "./ledger.js";
import { body, text } from "./message.js";
import { ownerOf, READS } from "./owners.js";
import { settings } from "./settings.js";

const PODS = "v1/pods";
const OFF = "/metadata/annotations/informant.dev~1restart-alert";
const POINTERS = ["/status/containerStatuses", "/status/initContainerStatuses", "/metadata/ownerReferences", OFF];

/** Owners of whom something is known. More than that fail only where everything does. */
export const OWNERS_MAX = 300;
const OWNER = "owner/";
const MINUTE = "minute";

const some = (of, test) => `(has(${of}) && ${of}.exists(c, ${test}))`;
const ended = "c.restartCount > 0 || (has(c.state.terminated) && has(c.state.terminated.reason) && c.state.terminated.reason == 'OOMKilled')";
const either = (object) => POINTERS.slice(0, 2).map((pointer) => some(`${object}${pointer.replaceAll("/", ".")}`, ended)).join(" || ");
/** Pods of which a container has ended before; of those that go the same. */
const FILTER = `change == 'deleted' ? (${either("old")}) : (${either("object")})`;

let is = settings({});
/** Whether this instance has looked for what waits since before it. */
let hasLooked = false;
/** The requests of the last minute, also those that failed: what a call that failed wrote into the state was never there. */
let tried = { since: 0, sent: 0 };
/** The webhook has asked to be left alone until then. */
let notBefore = 0;

const read = (key) => state.get(OWNER + key);
const write = (key, record) => state.set(OWNER + key, record);

/** What an earlier host, whose keys ended with it, left to be told. */
function look() {
  if (hasLooked) return;
  for (const name of state.keys(OWNER)) {
    if (isWaiting(state.get(name))) workqueue.addAfter(name.slice(OWNER.length), is.groupWait);
  }
  hasLooked = true;
}

/** Room for one more owner: those of whom nothing was told for long go, or else the one of whom that is true the longest. */
function makeRoom(now) {
  const names = state.keys(OWNER);
  if (names.length < OWNERS_MAX) return true;
  const known = names.map((name) => ({ name, record: state.get(name) }));
  let gone = known.filter(({ record }) => isOver(record, now, is.repeatAfter));
  if (gone.length === 0) {
    const quiet = known.filter(({ record }) => !isWaiting(record));
    gone = quiet.sort((a, b) => lastTold(a.record) - lastTold(b.record)).slice(0, 1);
  }
  for (const { name } of gone) state.set(name, null);
  return gone.length > 0;
}

function handle(event) {
  look();
  const [containers, init, owners, off] = eventData.fields(POINTERS, event.change === "deleted" ? "old" : "new");
  const pod = { uid: event.uid, name: event.name };
  const key = ownerOf(event.namespace, event.name, owners);
  const known = read(key);
  if (event.change === "deleted") {
    if (known !== null && forget(known, pod)) write(key, known);
    return;
  }
  const now = Date.now();
  const record = known ?? empty();
  const found = off === "off" ? [] : incidents([...(init ?? []), ...(containers ?? [])], is.restarts);
  const fresh = note(record, pod, found, now, is.repeatAfter);
  if (fresh.length > 0) {
    if (known === null && !makeRoom(now)) {
      metrics.counterAdd("restart_alert_dropped_total", {});
      log.warn("more owners fail than can be kept: this one is not told", { owner: key, most: OWNERS_MAX });
      return;
    }
    write(key, record);
    for (const { kind } of fresh) metrics.counterAdd("restart_alert_incidents_total", { kind });
  }
  if (isWaiting(record)) workqueue.addAfter(key, is.groupWait);
}

/** 0, and the message counts, or how long until there may be another one. */
function waitForTurn(now) {
  if (now < notBefore) return notBefore - now;
  const told = state.get(MINUTE) ?? { since: 0, sent: 0 };
  const isLater = told.since > tried.since || (told.since === tried.since && told.sent > tried.sent);
  const { since, sent } = isLater ? told : tried;
  const isOld = now - since >= 60_000 || now < since;
  if (!isOld && sent >= is.messagesPerMinute) return since + 60_000 - now;
  tried = isOld ? { since: now, sent: 1 } : { since, sent: sent + 1 };
  state.set(MINUTE, tried);
  return 0;
}

function send(owner, waiting, now) {
  const answer = http.send({
    method: "POST", url: is.url, headers: { "content-type": "application/json; charset=utf-8" }, body: body(owner, waiting, is.channel),
  });
  if (answer.status === 429) {
    const wait = (Number(answer.headers["retry-after"]) || 30) * 1_000;
    notBefore = now + wait;
    throw after(new Error("the webhook wants to be asked less often"), wait);
  }
  if (answer.status < 200 || answer.status > 299) throw new Error(`the webhook answered with status ${answer.status}: ${answer.text().slice(0, 200)}`);
  // Slack's API says so with status 200 when it has refused something.
  if (/^\s*\{[^]*"ok"\s*:\s*false/.test(answer.text())) throw new Error(`the webhook refused the message: ${answer.text().slice(0, 200)}`);
}

function reconcile(key) {
  const record = read(key);
  if (record === null || !isWaiting(record)) return null;
  const now = Date.now();
  const wait = waitForTurn(now);
  if (wait > 0) return wait;
  if (is.webhook !== null) send(key, record.waiting, now);
  log.warn(text(key, record.waiting));
  metrics.counterAdd("restart_alert_messages_total", {});
  tell(record, now);
  write(key, record);
  return null;
}

export const { lifecycle, handler, reconciler } = plugin({
  describe(config) {
    const { webhook, addresses, namespaces } = settings(config);
    const whom = { methods: ["POST"], addresses: [addresses] };
    return {
      version: "0.1.0",
      subscriptions: [{ resource: PODS, namespaces, delivery: "lazy", onlyIfChanged: POINTERS.slice(0, 2), filter: FILTER }],
      reads: READS.map((read) => ({ ...read, namespaces })),
      ...(webhook === null ? {} : { http: [{ origins: [webhook.origin], ...whom, ...(webhook.path === null ? {} : { paths: [webhook.path] }) }] }),
    };
  },
  start(config) {
    is = settings(config);
    hasLooked = false;
    tried = { since: 0, sent: 0 };
    notBefore = 0;
    if (is.webhook === null) log.info("no `url` is set: messages are lines of this log");
  },
  handle,
  reconcile,
});
