// The host's events and answers, as a plugin gets them.

import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { Host } from "../testing/index.js";

const ASKS = fileURLToPath(new URL("./plugins/asks.ts", import.meta.url));

/** The plugin's line for a key. */
async function check(key, expect, prepare = () => {}) {
  const host = await Host.start(ASKS);
  prepare(host);
  host.keys.push(key);
  host.reconcile();
  assert.equal(host.lines.at(-1), `info ${expect}`);
  return host;
}

const refusing = (error) => (host) => {
  host.answerWrite = () => {
    throw error;
  };
};

test("writes are answered with what the API server sent", async () => {
  const answering = (host) => (host.answerWrite = ({ verb, type, subresource, body }) => ({ verb, type, subresource, body }));
  await check("create", '{"verb":"create","subresource":"binding","body":{"a":1}}', answering);
  await check("update", '{"verb":"update","subresource":"","body":{}}', answering);
  await check("patch", '{"verb":"patch","type":{"tag":"json-patch"},"subresource":"","body":[{"op":"test"}]}', answering);
  await check("strategic", '{"verb":"patch","type":{"tag":"strategic"},"subresource":"","body":{}}', answering);
  await check("apply", '{"verb":"patch","type":{"tag":"apply","val":false},"subresource":"","body":{}}', answering);
  await check("delete", "done", answering);
  await check("event", "done", answering);
});

test("a write that is refused says why", async () => {
  const conflict = { tag: "status", val: { code: 409, reason: "Conflict", message: "söhne changed", retryAfterMs: null } };
  await check("update", "kube: status: 409 Conflict: söhne changed | status 409 Conflict -1", refusing(conflict));
  const busy = { tag: "status", val: { code: 429, reason: "TooManyRequests", message: "", retryAfterMs: 1500 } };
  await check("delete", "kube: status: 429 TooManyRequests | status 429 TooManyRequests 1500", refusing(busy));
  await check("patch", "kube: not-leader | not-leader 0  -1", refusing({ tag: "not-leader" }));
  await check("event", "kube: transport: no answer | transport 0  -1", refusing({ tag: "transport", val: "no answer" }));
  await check("create", "kube: invalid: no name | invalid 0  -1", refusing({ tag: "invalid", val: "no name" }));
});

test("a problem as an answer comes again when the API server says", async () => {
  const failure = async (error) => {
    const host = await Host.start(ASKS);
    refusing(error)(host);
    host.keys.push("fail");
    return host.reconcile().fail;
  };
  const status = { code: 429, reason: "TooManyRequests", message: "", retryAfterMs: 1500 };
  const message = "kube: status: 429 TooManyRequests";
  assert.deepEqual(await failure({ tag: "status", val: status }), { message, retry: { tag: "after-ms", val: 1500 } });
  assert.deepEqual(await failure({ tag: "status", val: { ...status, retryAfterMs: null } }), { message, retry: { tag: "backoff" } });
});

test("a request is sent as it was made, and its answer is read", async () => {
  const answering = (host) => (host.answerRequest = () => ({ status: 201, headers: [["b", "c"], ["b", "d"]], body: new TextEncoder().encode('{"ä":1}') }));
  const host = await check("fetch", '201 b,c,b,d c true {"ä":1} {"ä":1}', answering);
  const body = new TextEncoder().encode('{"a":"söhne"}');
  const headers = [["x-a", "1"], ["content-type", "application/json"]];
  assert.deepEqual(host.requests, [{ method: "POST", url: "https://a.example/x", headers, body, timeoutMs: 5 }]);
  const bytes = (host) => (host.answerRequest = () => ({ status: 500, headers: [["b", ""]], body: new Uint8Array([65, 0xff]) }));
  await check("fetch", "500 b,  true A\ufffd json: malformed: a byte that is no UTF-8 at byte 1 of 2 | malformed 0  -1", bytes);
  const failing = (error) => (host) => {
    host.answerRequest = () => {
      throw error;
    };
  };
  await check("fetch", "http: timed-out: late | timed-out 0  -1", failing({ tag: "timed-out", val: "late" }));
  await check("fetch", "http: not-leader | not-leader 0  -1", failing({ tag: "not-leader" }));
});

test("pages are turned, and what is refused ends them", async () => {
  const pods = (host) => ["a", "b", "c", "d", "e"].forEach((name) => host.put("v1/pods", { metadata: { name, labels: { app: name } } }));
  await check("pages", "a b c d e a b c d e a false indexer: unknown-index: none | unknown-index 0  -1 false 0 true", pods);
  await check("pages", "false indexer: unknown-index: none | unknown-index 0  -1 false 0 true");
});

test("state, queue and series", async () => {
  await check("state", "done false söhne true 0");
  const host = await check("queue", "0 0", (host) => host.keys.push("unknown"));
  assert.deepEqual([host.keys, host.delayed], [[], { later: 5, limited: 5 }]);
  const host2 = await check("series", "done");
  assert.deepEqual([...host2.series], [["{a=b}", 1]]);
});

test("an event has all that the host told", async () => {
  const host = await Host.start(ASKS);
  const before = { metadata: { namespace: "shop", name: "web", uid: "u", labels: { a: "ä" } } };
  const after = { metadata: { namespace: "shop", name: "web", uid: "u" } };
  const [was, is] = [before, after].map((it) => JSON.stringify(it));
  assert.equal(host.update("v1/pods", before, after), null);
  assert.equal(host.delete("v1/pods", before), null);
  assert.equal(host.add("v1/nodes", { metadata: { name: "n" } }), null);
  assert.deepEqual(host.lines, [
    "info 1 0 updated watch shop/web u 1 there 0 1", `info object ${is} "web"`, `info texts ${is} ${was}`, `info old ${was} data "web" "web" true`,
    "info 2 0 deleted watch shop/web u 2 deleted 0 1", `info object ${was} "web"`, `info texts ${was} ${was}`, `info old ${was} data null "web" true`,
    "info 3 1 added watch n  3 there 0 1", "info object null null", "info texts none none", 'info old null data "n" null false',
  ]);
});

test("an event's objects cannot be read when its call has ended", async () => {
  const host = await Host.start(ASKS);
  const pod = (name) => ({ metadata: { namespace: "shop", name } });
  host.add("v1/pods", pod("kept"));
  // The values that were read stay.
  assert.equal(host.add("v1/pods", pod("web"))?.message, JSON.stringify(pod("kept")));
  for (const call of [(late) => late.add("v1/pods", pod("web")), (late) => (late.keys.push("late"), late.reconcile())]) {
    const late = await Host.start(ASKS);
    late.add("v1/pods", pod("unread"));
    assert.throws(() => call(late), /^Error: unreachable: an event's objects are gone when handle has answered: .* at=.*event\.ts:\d+:\d+$/);
    assert.match(late.lines.at(-1), /^error an event's objects are gone when handle has answered: read them before, and keep what was read at=/);
  }
});
