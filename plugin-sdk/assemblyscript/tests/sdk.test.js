// Tests the SDK with a plugin that uses everything.

import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { Host } from "../testing/index.js";
import { check, ECHO } from "./echo.js";

const FAILS = fileURLToPath(new URL("../fails/assembly/index.ts", import.meta.url));

const pod = (name, does, app = "sdk") => ({ metadata: { namespace: "shop", name, labels: { app }, annotations: { does } } });

test("a failure is an answer, with its wish for a retry", async () => {
  const host = await Host.start(FAILS);
  assert.deepEqual(host.add("v1/pods", pod("a", "fail")), { message: "asked to fail", retry: { tag: "never" } });
  assert.deepEqual(host.add("v1/pods", pod("a", "wait")), { message: "asked to wait", retry: { tag: "after-ms", val: 50 } });
  assert.deepEqual(host.lines, []);
  const echo = await Host.start(ECHO);
  // A failing key does not keep the other keys from their turn.
  echo.keys.push("failed söhne", "again 1500", "again -1", "key x");
  const failure = { message: "söhne", retry: { tag: "backoff" } };
  assert.deepEqual(echo.reconcile(), { "failed söhne": failure, "again 1500": 1500, "again -1": 0 });
});

test("what is thrown stands in the log with its place, and ends the instance", async () => {
  const trapped = async (does, line) => {
    const host = await Host.start(FAILS);
    let thrown;
    assert.throws(() => host.add("v1/pods", pod("abc", does)), (error) => (thrown = error) !== undefined);
    assert.match(host.lines.at(-1) ?? "", line);
    // The output of a test also contains the message and the place.
    assert.ok(thrown.message.endsWith(`: ${host.lines.at(-1).replace(/^error /, "")}`), thrown.message);
    assert.throws(() => host.add("v1/pods", pod("a", "")), { message: `the instance has ended: ${thrown.message}` });
  };
  await trapped("panic", /^error asked to panic by abc at=.*assembly\/index\.ts:\d+:\d+$/);
  await trapped("overrun", /^error Index out of range at=~lib\/array\.ts:\d+:\d+$/);
  // The stack is the language's own, and it is bounded.
  await trapped("recurse", /^error stack overflow: functions call each other too deep$/);
});

test("the host's functions are there", async () => {
  const host = await Host.start(FAILS);
  for (const name of ["db", "mail", "shop"]) host.put("v1/pods", pod(name, ""));
  assert.equal(host.add("v1/pods", pod("web", "use")), null);
  const [used] = host.lines;
  const words = [
    "info used name=web both=2 whole=web changed=true none=true app=sdk+true found=true swapped=true value=2 keys=1 pods=true synced=true leader=true",
    "plugin=test shard=0/1 version=true old=true refused=none",
    `denied=${Array(6).fill("not-granted").join("+")} closed=not-granted`,
  ];
  assert.equal(used, words.join(" "));
  assert.deepEqual([...host.series], [["sdk_total{language=assemblyscript}", 1], ["sdk_gauge{}", 2], ["sdk_seconds{}", 3]]);
  const key = { namespace: "shop", name: "web" };
  assert.deepEqual(host.writes, [
    { verb: "patch", resource: "v1/pods", key, subresource: "", type: { tag: "merge" }, body: {} },
    { verb: "patch", resource: "v1/pods", key, subresource: "status", type: { tag: "apply", val: true }, body: { kind: "Pod" } },
    { verb: "create", resource: "v1/pods", key: { namespace: "shop", name: "" }, subresource: "", body: {} },
    { verb: "update", resource: "v1/pods", key, subresource: "", body: {} },
    { verb: "event", resource: "v1/pods", key, warning: true, reason: "Tried", message: "a message" },
    { verb: "delete", resource: "v1/pods", key, uid: "a-uid" },
  ]);
  assert.deepEqual(host.requests, [
    { method: "GET", url: "https://example.com", headers: [["a", "b"]], body: new Uint8Array(), timeoutMs: 1000 },
  ]);
  host.reconcile();
  assert.equal(host.lines.at(-1), "info reconciled attempt=1 waiting=0");
});

test("a plugin is called by the clock, hears that its first objects are there, is reloaded and ends", async () => {
  const host = await Host.start(FAILS);
  assert.equal(host.synced("v1/pods"), null);
  assert.equal(host.fire("soon"), null);
  assert.equal(host.add("v1/pods", pod("web", "look")), null);
  assert.equal(host.add("v1/pods", pod("web", "")), null);
  assert.throws(() => host.fire("never"), /no schedule never/);
  await Host.start(FAILS, {}, host);
  host.stop();
  assert.deepEqual(host.lines, [
    "info synced subscription=0", "info fired schedule=soon ago=false", "info printed", "info looked environment=0 clock=true random=true",
    "info well pod=shop/web", "info restored from=0.1.0 data=carried", "info stopped",
  ]);
});

test("a descriptor has every key of the schema", async () => {
  const { descriptor } = await Host.start(ECHO);
  assert.deepEqual(descriptor, {
    version: "1",
    subscriptions: [{
      resource: "v1/pods", name: "mine", namespaces: ["a", "b"], namespaceSelector: "t=u", labelSelector: "x=y", fieldSelector: "spec.nodeName=n", types: ["added"], replay: "never",
      delivery: "lazy", withOld: true, onlyIfChanged: ["/spec"], filter: "true", resyncPeriod: "10m",
      enqueue: [{ self: true }, { owner: "apps/v1/ReplicaSet", namespace: "none" }, { pointer: "/a", prefix: "p/" }],
    }],
    indexes: [{ resource: "v1/pods", name: "app", pointer: "/metadata/labels/app" }],
    reads: [{ resource: "v1/nodes", namespaces: [] }, { resource: "v1/secrets", namespaces: ["a"] }],
    writes: [{ resource: "v1/pods/status", verbs: ["patch"], namespaces: ["a"] }],
    http: [
      { origins: ["https://a.example"], methods: ["GET"] },
      { origins: ["https://b.example"], methods: ["POST"], paths: ["/x"], addresses: ["private"] },
    ],
    schedules: [{ name: "hourly", cron: "0 * * * *" }, { name: "soon", every: "30s" }],
    shards: 2,
  });
});

test("a configuration is read, and what does not fit is refused", async () => {
  const said = async (config, expect) => {
    const host = await Host.start(ECHO, config).catch((error) => ({ lines: [error.message] }));
    assert.equal(host.lines.at(-1), expect, JSON.stringify(config));
  };
  await said({}, "info none 1.5 -1 null none");
  await said({ text: "é", number: 2, integer: 3, any: { a: [1] }, texts: ["a", "b"], refuse: false }, 'info é 2.0 3 {"a":[1]} a+b');
  await said({ refuse: true }, "asked to refuse");
  const refused = (what) => `the plugin's configuration does not fit: ${what}`;
  const known = "known are: refuse, texts, text, number, integer, any";
  await said({ text: 1 }, refused("text is a number, and should be a text"));
  await said({ integer: 1.5 }, refused("integer is 1.5, and should be an integer"));
  await said({ texts: ["a", 2], txt: "x" }, refused(`item 1 of texts is a number, and should be a text; there is no txt; ${known}`));
  await said([1], "the plugin's configuration is no JSON object: write its keys below config");
});

test("texts are UTF-8 for the host, and bytes that are none become U+FFFD", async () => {
  await check("half ", "a\ufffdb239,191,189");
  await check("key shop/web", "shop|web|shop/web");
  await check("key web", "|web|web");
  const all = [[0xff], [65, 0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80, 65], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80, 65], [0xe0, 0x80, 0x80], [0xf0, 0x80, 0x80, 0x80]];
  for (const bytes of all) {
    const single = bytes.map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : "\ufffd")).join("");
    await check(`bytes ${bytes}`, single);
  }
  for (const text of ["plain and long enough for eight at once", "söhne", "€ 𝒳 \u07ff\uffff\u{10ffff}"]) {
    await check(`bytes ${[...new TextEncoder().encode(text)]}`, text);
  }
  await check(`bytes ${[...new TextEncoder().encode('["€"]')]}`, '["€"] json');
});

test("a pair that is none ends the instance, and says what to write", async () => {
  const host = await Host.start(ECHO);
  host.keys.push("pair alone");
  assert.throws(() => host.reconcile());
  assert.match(host.lines.at(-1), /fields of a log line are pairs, \[\["name", "value"\]\]: number 0 has 1 texts; give each a name and a value/);
});

test("memory stays as it is over many calls, and large objects are given back", async () => {
  const host = await Host.start(FAILS);
  const large = { metadata: { namespace: "shop", name: "large", labels: { app: "sdk" } }, data: { text: "x".repeat(1_500_000) } };
  for (let round = 0; round < 5; round++) assert.equal(host.add("v1/pods", large), null);
  const before = host.memory;
  for (let round = 0; round < 20_000; round++) host.add("v1/pods", pod("web", ""));
  for (let round = 0; round < 20; round++) host.add("v1/pods", large);
  assert.equal(host.memory, before);
  await check("hammer 20000", "20000");
});

test("the collector may run wherever an object is made", async () => {
  const { compile } = await import("../compile.js");
  const plugin = await compile(FAILS, { options: ["-O1", "--use", "ASC_GC_GRANULARITY=8"] });
  const host = new Host(new WebAssembly.Module(plugin), {}, null);
  for (let i = 0; i < 7; i++) host.put("v1/pods", pod(`pod-${i}`, ""));
  for (let i = 0; i < 300; i++) assert.equal(host.add("v1/pods", pod(`web-${i % 5}`, "use")), null);
  assert.equal(host.lines.at(-1), host.lines[0].replaceAll("web-0", "web-4"));
  assert.match(host.lines[0], /^info used name=web-0 both=2 whole=web-0 .*found=true/);
});
