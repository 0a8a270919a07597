// Tests the SDK with a plugin that uses everything.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import vm from "node:vm";
import { bundle, exported, table, used } from "./bundle.js";
import * as fails from "./fails/plugin.js";
import { quick, TEXT_MAX } from "./quick.js";
import { given, script } from "./script.js";
import { GIVEN, give } from "./src/given.js";
import { placed, TABLE } from "./src/places.js";
import { read, write } from "./src/utf8.js";
import { Host } from "./testing/index.js";
import { contract, warnings } from "./world.js";

const pod = (name, does, app = "sdk") => ({ metadata: { namespace: "shop", name, labels: { app }, annotations: { does } } });

test("what is thrown is a failure, with its wish for a retry", () => {
  const host = new Host(fails);
  assert.deepEqual(host.add("v1/pods", pod("a", "fail")), { message: "asked to fail", retry: { tag: "never" } });
  assert.deepEqual(host.add("v1/pods", pod("a", "panic")), { message: "asked to panic by a", retry: { tag: "backoff" } });
  // An intended failure is a result; the place of an accident is logged.
  const [line, ...more] = host.lines;
  assert.deepEqual(more, []);
  assert.match(line, /^error asked to panic by a stack=.*panic/s);
});

test("only never and after choose the retry", async () => {
  const { after, never, plugin } = await import("./src/index.js");
  const check = (reason, retry, logged) => {
    const handle = () => {
      throw reason;
    };
    const host = new Host(plugin({ describe: { version: "1", subscriptions: [{ resource: "v1/pods" }] }, handle }));
    assert.deepEqual(host.add("v1/pods", pod("a", "")), { message: "busy", retry });
    assert.equal(host.lines.length, logged);
  };
  check(never(new Error("busy")), { tag: "never" }, 0);
  check(after("busy", 1.5), { tag: "after-ms", val: 2 }, 0);
  check(Object.assign(new Error("busy"), { retry: 3 }), { tag: "backoff" }, 1);
  check("busy", { tag: "backoff" }, 0);
  check(after("busy", Infinity), { tag: "after-ms", val: Number.MAX_SAFE_INTEGER }, 0);
});

test("what is thrown tells of its causes, and a wait that is no number of itself", async () => {
  const { after, plugin, workqueue } = await import("./src/index.js");
  const host = (does) => new Host(plugin({ describe: { version: "1", subscriptions: [{ resource: "v1/pods" }] }, ...does }));
  const check = (handle, message) => assert.equal(host({ handle }).add("v1/pods", pod("a", ""))?.message, message);
  const throwing = (reason) => () => {
    throw reason;
  };
  check(throwing(new Error("no answer", { cause: new TypeError("timed out", { cause: "dns" }) })), "no answer: TypeError: timed out: dns");
  check(throwing(new RangeError()), "RangeError");
  const own = new Error("own");
  own.cause = own;
  check(throwing(own), Array(9).fill("own").join(": "));
  check(() => throwing(after("busy", Number("soon")))(), "TypeError: after wants milliseconds, and NaN is none");
  check(() => workqueue.addAfter("a", undefined), "TypeError: addAfter wants milliseconds, and undefined is none");
  const again = host({ handle: () => workqueue.add("a"), reconcile: () => Number.NaN });
  again.add("v1/pods", pod("a", ""));
  assert.throws(() => again.reconcile(), { message: "TypeError: reconcile wants milliseconds, and NaN is none" });
});

test("a refused write comes again after the API server's time", async () => {
  const { after, kube, plugin } = await import("./src/index.js");
  const check = (retryAfterMs, handle, retry) => {
    const host = new Host(plugin({ describe: { version: "1", subscriptions: [{ resource: "v1/pods" }] }, handle }));
    host.answerWrite = () => {
      throw { tag: "status", val: { code: 429, reason: "TooManyRequests", message: "busy", retryAfterMs } };
    };
    assert.deepEqual(host.add("v1/pods", pod("a", "")), { message: "HostError: kube: status: busy", retry });
  };
  const remove = () => kube.delete("v1/pods", "shop/a");
  check(2000n, remove, { tag: "after-ms", val: 2000 });
  check(null, remove, { tag: "backoff" });
  check(0n, remove, { tag: "backoff" });
  const own = () => {
    try {
      remove();
    } catch (error) {
      throw after(error, 5);
    }
  };
  check(2000n, own, { tag: "after-ms", val: 5 });
});

test("instances of one build have random numbers of their own", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "informant-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "plugin.js");
  const sdk = JSON.stringify(new URL("./src/index.js", import.meta.url).pathname);
  const describe = "() => ({ numbers: Array.from({ length: 100 }, Math.random) })";
  await writeFile(file, `import { plugin } from ${sdk};\nexport const { lifecycle } = plugin({ describe: ${describe} });\n`);
  const { text, places } = await bundle(file);
  // All begin with the build's memory, and so with the state of the engine's generator.
  const numbers = (now) => {
    const context = vm.createContext({});
    vm.runInContext(`Math.random = () => 0.5; Date.now = () => ${now};`, context);
    const { lifecycle } = vm.runInContext(script(text, places), context)(new Proxy({}, { get: () => ({}) }));
    lifecycle.start(new Uint8Array());
    return JSON.parse(read(lifecycle.describe(new Uint8Array()))).numbers;
  };
  const [one, other] = [numbers(1), numbers(2)];
  assert.deepEqual(numbers(1), one);
  assert.equal(new Set([...one, ...other]).size, 200);
  assert.equal(one.every((number) => number >= 0 && number < 1), true);
});

test("several values of one response header are joined", async () => {
  const { http, log, plugin } = await import("./src/index.js");
  const handle = () => log.info("answered", http.send({ url: "https://localhost" }).headers);
  const host = new Host(plugin({ describe: { version: "1", subscriptions: [{ resource: "v1/pods" }] }, handle }));
  host.answerRequest = () => ({ status: 200, headers: [["vary", "accept"], ["age", "1"], ["vary", "origin"], ["__proto__", "x"]] });
  assert.equal(host.add("v1/pods", pod("a", "")), null);
  assert.deepEqual(host.lines, ["info answered vary=accept, origin age=1 __proto__=x"]);
});

test("the host's functions are there", () => {
  const host = new Host(fails);
  host.put("v1/pods", pod("db", ""));
  assert.equal(host.add("v1/pods", pod("web", "use")), null);
  const used = "info used name=web none=true app=sdk+ found=true value=2 keys=1 pods=true synced=true leader=true plugin=test";
  assert.equal(host.lines.at(-1), `${used} old=true refused=none denied=not-granted closed=not-granted`);
  assert.equal(host.series.get("sdk_total{language=js}"), 1);
  assert.equal(host.writes[0].type.tag, "merge");
  host.reconcile();
  assert.equal(host.lines.at(-1), "info reconciled attempt=1 waiting=0");
});

test("events of a subscription with enqueue rules are keys, of the old state and of the new one", async () => {
  const { hostInfo, log, plugin } = await import("./src/index.js");
  const enqueue = ["self", { owner: "apps/v1/ReplicaSet", prefix: "rs/" }, { pointer: "/spec/nodeName", namespace: "none", prefix: "nodes/" }];
  const host = new Host(
    plugin({
      describe: { version: "1", subscriptions: [{ resource: "v1/pods", enqueue }] },
      reconcile: (key) => {
        log.info(key, { shard: hostInfo.shard().number });
        return key.startsWith("rs/") ? 1.5 : null;
      },
    }),
  );
  const owned = (name, nodeName) => ({
    metadata: { namespace: "shop", name: "web", ownerReferences: [{ apiVersion: "apps/v1beta1", kind: "ReplicaSet", name }, { apiVersion: "v1", kind: "ReplicaSet", name: "no" }] },
    spec: { nodeName },
  });
  assert.equal(host.update("v1/pods", owned("a"), owned("b", "n1")), null);
  assert.deepEqual(host.keys, ["shop/web", "rs/shop/a", "rs/shop/b", "nodes/n1"]);
  host.shard = [2, 4];
  assert.deepEqual(host.reconcile(), { "rs/shop/a": 2, "rs/shop/b": 2 });
  assert.equal(host.lines[0], "info shop/web shard=2");
});

test("a delayed key comes back when its time has passed, the earliest of several", async () => {
  const { after, log, plugin, workqueue } = await import("./src/index.js");
  const does = {
    "shop/a": () => 200,
    "shop/b": () => workqueue.addAfter("shop/b", 50),
    "shop/c": () => workqueue.addRateLimited("shop/c"),
    "shop/d": () => {
      throw after("busy", 100);
    },
    "shop/e": () => {
      throw new Error("broken");
    },
  };
  const host = new Host(
    plugin({
      describe: { version: "1", subscriptions: [{ resource: "v1/pods", enqueue: ["self"] }] },
      reconcile(key, attempt) {
        log.debug(key, { attempt, failures: workqueue.numRequeues(key) });
        return does[key]();
      },
    }),
  );
  const failing = (key, message) => {
    host.add("v1/pods", pod(key, ""));
    assert.throws(() => host.reconcile(), { message });
  };
  for (const name of ["a", "b", "c"]) host.add("v1/pods", pod(name, ""));
  assert.deepEqual(host.reconcile(), { "shop/a": 200 });
  failing("d", "busy");
  failing("e", "broken");
  assert.deepEqual(host.delayed, { "shop/a": 200, "shop/b": 50, "shop/c": 5, "shop/d": 100, "shop/e": 5 });
  failing("e", "broken");
  assert.equal(host.delayed["shop/e"], 5, "the earlier time counts");

  const before = Date.now();
  host.wait(100);
  assert.deepEqual(host.keys, ["shop/c", "shop/e", "shop/b", "shop/d"]);
  assert.deepEqual(host.delayed, { "shop/a": 100 });
  assert.equal(Date.now() - before >= 100 && new Date() - before >= 100 && new Date() instanceof Date, true);
  assert.equal(new Date(7).getTime(), 7);

  // An event adds a key at once, and the old time still comes.
  host.keys.length = 0;
  host.add("v1/pods", pod("a", ""));
  assert.deepEqual(host.reconcile(), { "shop/a": 200 });
  assert.deepEqual(host.delayed, { "shop/a": 100 });
  host.wait(99);
  assert.deepEqual(host.keys, []);
  host.wait(1);
  assert.deepEqual(host.keys, ["shop/a"]);
});

test("time that passes is also that of a clock of the test, and ends with its host", (t) => {
  const date = globalThis.Date;
  t.mock.timers.enable({ apis: ["Date"], now: 1_000 });
  const host = new Host(fails);
  host.wait(200_000);
  host.wait(1);
  assert.deepEqual([Date.now(), new Date().getTime()], [201_001, 201_001]);
  const next = new Host(fails, {}, host);
  assert.equal(Date.now(), 201_001);
  next.wait(1);
  new Host(fails);
  assert.equal(Date.now(), 1_000);
  t.mock.timers.reset();
  assert.equal(globalThis.Date, date);
});

test("an update that changes none of the subscription's pointers is not delivered, nor a change of another type", async () => {
  const { log, plugin } = await import("./src/index.js");
  const subscribed = (condition) => [
    { resource: "v1/pods", ...condition },
    { resource: "v1/nodes", enqueue: ["self"], ...condition },
  ];
  const told = (condition, before, after) => {
    const handle = (event) => log.info(event.change);
    const host = new Host(plugin({ describe: { version: "1", subscriptions: subscribed(condition) }, handle, reconcile() {} }));
    const object = (is) => ({ metadata: { name: "a" }, ...is });
    host.add("v1/pods", object(before));
    for (const resource of ["v1/pods", "v1/nodes"]) host.update(resource, object(before), object(after));
    host.delete("v1/pods", object(after));
    assert.equal(host.keys.length, host.lines.some((line) => line.includes("updated")) ? 1 : 0);
    return host.lines.map((line) => line.split(" ")[1]);
  };
  const onlyIfChanged = ["/status/phase", "/status/ready~1all/0", "/status/*"];
  const [all, some] = [["added", "updated", "deleted"], ["added", "deleted"]];
  assert.deepEqual(told({}, { a: 1 }, { a: 2 }), all);
  assert.deepEqual(told({ onlyIfChanged: [] }, { a: 1 }, { a: 2 }), all);
  assert.deepEqual(told({ onlyIfChanged }, { a: 1 }, { a: 2 }), some);
  assert.deepEqual(told({ onlyIfChanged }, { status: { "ready/all": [1, 2] } }, { status: { "ready/all": [1, 3] } }), some);
  assert.deepEqual(told({ onlyIfChanged }, { status: { "ready/all": [1, 2] } }, { status: { "ready/all": [2, 2] } }), all);
  assert.deepEqual(told({ onlyIfChanged }, {}, { status: { phase: "Failed" } }), all);
  // As in a host, `*` is a name in these pointers.
  assert.deepEqual(told({ onlyIfChanged }, { status: { a: 1 } }, { status: { a: 2 } }), some);
  assert.deepEqual(told({ onlyIfChanged }, { status: { "*": 1 } }, { status: { "*": 2 } }), all);
  assert.deepEqual(told({ types: ["updated"] }, {}, {}), ["updated"]);
  assert.deepEqual(told({ types: ["added", "deleted"] }, {}, {}), some);
});

test("an event says what was before", () => {
  const host = new Host({
    ...fails,
    handler: { handle: (event) => assert.notEqual(event.old, null) },
  });
  assert.equal(host.update("v1/pods", pod("a", "", "x"), pod("a", "", "y")), null);
});

test("a promise is a failure", async () => {
  const { plugin } = await import("./src/index.js");
  const later = plugin({ describe: { version: "1", subscriptions: [{ resource: "v1/pods" }] }, async handle() {} });
  assert.equal(new Host(later).add("v1/pods", pod("a", ""))?.message.includes("returned a promise"), true);
});

test("a stack names the lines of the sources", () => {
  const sources = ["src/a.ts", "src/b.ts"];
  // Each line of the bundle: nothing; a line of the first file; two lines of the second file; two lines of the first file.
  const places = table({ sources, mappings: ";AAGA;ACAA,QAaI;ADdJ,IACA" });
  assert.deepEqual(places, { files: sources, lines: ";0,0,4;0,1,4 8,1,17;0,0,3 4,0,4" });
  const check = (place, expected) => assert.equal(placed(`at f (componentize-qjs:user.js:${place})`, places), `at f (${expected})`);
  check("2:1", "src/a.ts:4");
  check("3:8", "src/b.ts:4");
  check("3:9", "src/b.ts:17");
  check("3:80", "src/b.ts:17");
  check("1:1", "componentize-qjs:user.js:1:1");
  check("9:1", "componentize-qjs:user.js:9:1");
  assert.equal(placed("at f (componentize-qjs:user.js:2:1)"), "at f (componentize-qjs:user.js:2:1)");
  const ofText = { ...places, name: "<input>" };
  assert.equal(placed("at f (<input>:2:1)\nat g (componentize-qjs:user.js:2:1)", ofText), "at f (src/a.ts:4)\nat g (componentize-qjs:user.js:2:1)");
});

test("the world follows from what the file exports", () => {
  const check = (text, world) => assert.equal(contract("", exported(text)), `\nworld made {\n    include imports;\n${world}}\n`);
  check("var a;\nexport {\n  handler,\n  lifecycle,\n  other\n};\n", "    export lifecycle;\n    export handler;\n");
  check("export { x as lifecycle, syncAware };", "    export lifecycle;\n    export sync-aware;\n");
  assert.equal(contract("", ["lifecycle"], ["http", "log"]), "\nworld made {\n    import http;\n    import log;\n    export lifecycle;\n}\n");
  assert.throws(() => contract("", exported("export { handler };")), /exports no lifecycle/);
  assert.throws(() => contract("", exported("var a = 1;")), /exports no lifecycle/);
});

test("a plugin imports the interfaces that it uses", () => {
  const [some, log, kube] = [
    'import { enabled, log as write } from "informant:plugin/log@0.1.0";', 'import * as logOfHost from "informant:plugin/log@0.1.0";',
    'import * as kubeOfHost from "informant:plugin/kube@0.1.0";',
  ];
  const check = (text, expected, imports) => assert.deepEqual(used(text), { text: expected, imports });
  check(`${kube}\nvar a;\n${log}\nlogOfHost.log();\n`, `\nvar a;\n${log}\nlogOfHost.log();\n`, ["log"]);
  check(`${some}\n${log}\n${kube}\nkubeOfHost.get();`, `${some}\n\n${kube}\nkubeOfHost.get();`, ["kube", "log"]);
});

test("a saved source is written into a component that was built before", async (t) => {
  const kept = await mkdtemp(join(tmpdir(), "informant-"));
  t.after(() => rm(kept, { recursive: true }));
  const made = [];
  // As a build leaves it in the memory of a plugin.
  const componentize = (source) => {
    const [, mark, copies] = source.match(/^const place = (".*")\.repeat\((\d+)\);$/m);
    made.push(source);
    return Buffer.from(`head${JSON.parse(mark).repeat(copies)}tail`);
  };
  const build = (text, names = ["lifecycle", "handler"]) => quick(text, names, join(kept, "quick"), componentize);
  const [one, same, other] = [await build("one"), await build("one"), await build("(two)")];
  assert.deepEqual(one, same);
  const filled = (text) => `head${text.padEnd(TEXT_MAX)}tail`;
  assert.deepEqual([`${one}`, `${other}`, made.length], [filled("one"), filled("(two)"), 1]);
  assert.equal(`${await build("x".repeat(TEXT_MAX))}`, filled("x".repeat(TEXT_MAX)));
  assert.equal(await build("x".repeat(TEXT_MAX + 1)), null);
  assert.equal(await build("söhne"), null);
  await build("one", ["lifecycle", "timer"]);
  assert.equal(made.length, 2, "other exports are another component");
  assert.deepEqual(made[1].match(/^export const .*$/gm), [
    'export const lifecycle = { get describe() { return made("lifecycle", "describe"); }, get start() { return made("lifecycle", "start"); }, get stop() { return made("lifecycle", "stop"); } };',
    'export const timer = { get fire() { return made("timer", "fire"); } };',
  ]);
  assert.equal((await readdir(join(kept, "quick"))).length, 1, "only one is kept");
  assert.equal(await quick("one", ["lifecycle"], join(kept, "other"), () => Buffer.from("no place")), null);
});

test("a script runs as the bundle does", () => {
  const text = 'import { log as write } from "informant:plugin/log@0.1.0";\nvar lifecycle = () => write("söhne");\nexport {\n  lifecycle,\n  lifecycle as other\n};\n';
  const made = script(text, { files: ["söhne.js"], lines: "" });
  assert.equal(made.split("\n").findIndex((line) => line.startsWith("var lifecycle")), 1, "lines stay");
  assert.match(made, /"files":\["s\\u00f6hne\.js"\]/);
  const said = [];
  const plugin = (0, eval)(made)({ "informant:plugin/log@0.1.0": { log: (line) => said.push(line) } });
  delete globalThis[TABLE];
  assert.equal(plugin.other, plugin.lifecycle);
  plugin.lifecycle();
  assert.deepEqual(said, ["söhne"]);
});

test("a function that no host calls is a warning of the build", () => {
  const check = (functions, names, ...expected) => assert.deepEqual(warnings(functions, names), expected);
  const synced = "`synced` is never called: export `syncAware`";
  check(["describe", "handle", "start", "stop"], ["lifecycle", "handler"]);
  check(["describe", "reconcile", "synced"], ["lifecycle", "reconciler"], synced);
  check(["describe", "snapshot", "fire"], ["lifecycle", "stateful", "timer", "more"]);
  check(["handel"], ["lifecycle"], "`handel` is never called: a host calls describe, start, stop, handle, reconcile, fire, synced, snapshot, restore");
  check(["describe"], ["lifecycle", "handler", "syncAware"], "`handler` is exported, and there is no `handle`");
});

test("a build sees the functions that the top level passes to plugin", () => {
  const head = 'import { log as write } from "informant:plugin/log@0.1.0";\nimport * as http from "informant:plugin/http@0.1.0";\n';
  const tail = "var a = { describe: 1 };\nexport {\n  a as lifecycle,\n  write\n};\n";
  const check = (text, expected) => assert.deepEqual(given(script(`${head}${text}${tail}`, {})), expected);
  const call = (names) => `globalThis[${JSON.stringify(GIVEN)}]?.(${JSON.stringify(names)});\n`;
  check("", null);
  check(`${call(["describe"])}${call(["handle"])}`, ["describe", "handle"]);
  assert.throws(() => given(script(`${head}write("x");\n${tail}`, {})), /calls no function of the host/);
  assert.equal(script(`${head}await null;\n${tail}`, {}), null);
  assert.equal(script('import fs from "fs";\nexport {};\n', {}), null);
  let seen = null;
  globalThis[GIVEN] = (names) => (seen = names);
  give({ describe: {}, handle() {}, synced: () => {} });
  delete globalThis[GIVEN];
  assert.deepEqual(seen, ["handle", "synced"]);
  give({});
});

test("a value is exchanged if it is the expected one", async () => {
  const { plugin, state } = await import("./src/index.js");
  new Host(plugin({ describe: { version: "1" } }));
  const swaps = [[null, { a: 1 }, true], [null, 2, false], [{ a: 2 }, 2, false], [{ a: 1 }, 2, true], [2, null, true]];
  for (const [expected, value, swapped] of swaps) assert.equal(state.compareAndSet("k", expected, value), swapped, `${value}`);
  assert.equal(state.get("k"), null);
});

test("a snapshot is restored", () => {
  new Host(fails);
  const known = fails.stateful.snapshot();
  fails.stateful.restore("0.1.0", known);
  assert.deepEqual(JSON.parse(new TextDecoder().decode(known)), { fired: false });
});

test("a plugin is called by the clock, hears that its first objects are there, and is reloaded", () => {
  const host = new Host(fails);
  assert.equal(host.synced("v1/pods"), null);
  assert.equal(host.fire("soon"), null);
  assert.deepEqual(host.lines, ["info synced subscription=0", "info fired schedule=soon ago=false"]);
  assert.throws(() => host.fire("never"), /no schedule never/);
  host.add("v1/pods", pod("web", "use"));
  const next = new Host(fails, {}, host);
  assert.deepEqual(next.keys, ["shop/web"]);
  assert.deepEqual(next.reconcile(), {});
});

test("text is read and written as others do it", () => {
  for (const text of ["", "plain", "söhne", "€", "𝒳y", "a\u0000b", "x".repeat(10_000), `${"x".repeat(4096)}€`, `${"x".repeat(4095)}€y`, "a€𝒳".repeat(3_000)]) {
    assert.deepEqual([...write(text)], [...new TextEncoder().encode(text)], text);
    assert.equal(read(new TextEncoder().encode(text)), text);
    assert.equal(read([...new TextEncoder().encode(text)]), text);
  }
  for (const bytes of [[0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80, 65], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80, 65]]) {
    assert.match(read(Uint8Array.from(bytes)), /\ufffd/, `${bytes}`);
  }
  assert.deepEqual([...write("\ud800")], [0xef, 0xbf, 0xbd]);
});
