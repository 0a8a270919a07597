// A plugin's state and queue, in tests as in a host.

import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { Host } from "../testing/index.js";

const plugin = (name) => fileURLToPath(new URL(`./plugins/${name}.ts`, import.meta.url));
const KEEPS = plugin("keeps");

/** Checks the log of a plugin that has worked on these keys. */
async function check(keys, ...lines) {
  const host = await Host.start(KEEPS);
  host.lines.length = 0;
  host.keys.push(...keys);
  const answers = host.reconcile();
  assert.deepEqual(host.lines, lines.map((line) => `info ${line}`));
  return [host, answers];
}

test("what a call wrote is kept once it has succeeded", async () => {
  const [host, answers] = await check(["done a 1", "fail a 2", "fail b 3", "done c 4"], "kept 1", "kept 2", "kept 3", "kept 4");
  assert.deepEqual([host.state("a"), host.state("b"), host.state("c")], ["1", null, "4"]);
  assert.deepEqual(host.stateBytes("a"), new Uint8Array([0x31]));
  assert.deepEqual(Object.keys(answers), ["fail a 2", "fail b 3"]);
  assert.deepEqual(host.fire("soon"), { message: "fired in vain", retry: { tag: "never" } });
  assert.equal(host.state("fired"), null);
  host.keys.push("throw a 5");
  assert.throws(() => host.reconcile(), /^Error: unreachable: asked to throw at=.*keeps\.ts:\d+:\d+$/);
  assert.equal(host.state("a"), "1");
  const next = await Host.start(KEEPS, {}, host);
  assert.equal(next.state("a"), "1");
});

test("state is written where a host lets it be, under keys that a host takes", async () => {
  const refused = "state: refused: state is written in `handle`, `reconcile` and `fire` only";
  const host = await Host.start(KEEPS);
  assert.equal(host.synced("v1/pods"), null);
  assert.deepEqual(host.lines, [`info ${refused} | ${refused}`, `info ${refused}`]);
  assert.equal(host.state("a"), null);
  assert.equal(host.descriptor.version, "state: refused: there is no state in `describe`");
  const [most, more] = ["é".repeat(256), `${"é".repeat(256)}x`];
  const words = (bytes) => `state: refused: a key of ${bytes} bytes: keys have 1 to 512 none`;
  const [, answers] = await check(["done  x", `done ${most} y`, `done ${more} z`], words(0), "kept y", words(513));
  assert.deepEqual(answers, {});
});

test("there is room for 1000 keys and 1 MiB", async () => {
  const keys = Array.from({ length: 1001 }, (_, number) => `done ${number} x`);
  const [host] = await check(keys, ...Array(1000).fill("kept x"), "state: refused: 1001 keys, at most 1000 are kept; remove some none");
  host.lines.length = 0;
  host.keys.push(`done 0 ${"x".repeat(1 << 20)}`);
  host.reconcile();
  assert.match(host.lines[0], /^info state: refused: 105\d+ bytes, at most 1048576 are kept; remove some x$/);
});

test("a call that adds what is no key has failed", async () => {
  const long = "x".repeat(513);
  const [host, answers] = await check(["add ", `add ${long}`, "add well"]);
  const failure = (bytes) => ({ message: `workqueue.add: a key of ${bytes} bytes: keys have 1 to 512`, retry: { tag: "never" } });
  assert.deepEqual(answers, { "add ": failure(0), [`add ${long}`]: failure(513) });
  assert.deepEqual(host.keys, []);
});

test("a queue where there is none ends the instance", async () => {
  await assert.rejects(Host.start(KEEPS, { queue: true }), { message: "workqueue.add in start, where another version may be in charge" });
  const host = await Host.start(plugin("queues"));
  const words = "workqueue.len: it is there for a plugin that exports reconciler, and not in describe";
  assert.throws(() => host.add("v1/pods", { metadata: { name: "web" } }), { message: words });
});

test("of a subscription with rules for keys an event is keys", async () => {
  const host = await Host.start(KEEPS);
  const pod = { metadata: { namespace: "shop", name: "web" } };
  assert.equal(host.add("v1/pods", pod), null);
  assert.equal(host.update("v1/pods", pod, pod), null);
  assert.deepEqual(host.keys, ["shop/web", "node/web"]);
  assert.deepEqual(host.reconcile(), {});
  assert.equal(host.delete("v1/pods", { metadata: { name: "alone" } }), null);
  assert.deepEqual(host.keys, ["alone", "node/alone"]);
  const owned = (name) => ({ metadata: { namespace: "shop", name: "web", ownerReferences: [{ apiVersion: "apps/v1beta1", kind: "ReplicaSet", name }] } });
  assert.equal(host.update("v1/services", owned("a"), owned("b")), null);
  assert.deepEqual(host.keys, ["alone", "node/alone", "shop/a", "shop/b"]);
});

test("an update that changes none of the subscription's pointers is not delivered, nor a change of another type", async () => {
  const host = await Host.start(plugin("delays"));
  const node = (name, size, more) => ({ metadata: { name }, status: { size, more } });
  host.add("v1/nodes", node("added", 1));
  host.update("v1/nodes", node("same", 1, 1), node("same", 1, 2));
  host.update("v1/nodes", node("changed", 1), node("changed", 2));
  host.delete("v1/nodes", node("deleted", 2));
  assert.deepEqual(host.keys, ["changed", "deleted"]);
});

test("a delayed key comes back when its time has passed, the earliest of several", async () => {
  const host = await Host.start(plugin("delays"));
  host.keys.push("again 200", "after 50", "limited", "wait 100", "fail");
  assert.deepEqual(Object.keys(host.reconcile()), ["again 200", "wait 100", "fail"]);
  assert.deepEqual(host.delayed, { "again 200": 200, "after 50": 50, limited: 5, "wait 100": 100, fail: 5 });
  host.wait(100);
  assert.deepEqual(host.keys, ["limited", "fail", "after 50", "wait 100"]);
  assert.deepEqual(host.delayed, { "again 200": 100 });
  // An addition brings a key at once, and the old time still comes. The plugin's clock has moved.
  host.keys.splice(0, 4, "again 200");
  host.lines.length = 0;
  host.reconcile();
  assert.deepEqual(host.lines, ["info again 200 1 1700000000100"]);
  assert.deepEqual(host.delayed, { "again 200": 100 });
  host.wait(99);
  assert.deepEqual(host.keys, []);
  host.wait(1);
  assert.deepEqual(host.keys, ["again 200"]);
  // Attempts count on, and so do the waits.
  host.keys.splice(0, 1, "limited", "fail");
  host.lines.length = 0;
  host.reconcile();
  assert.deepEqual(host.lines, ["info limited 2 1700000000200", "info fail 2 1700000000200"]);
  assert.deepEqual([host.delayed.limited, host.delayed.fail], [10, 10]);
});
