// Tests the declarations of plugin-sdk/js: against its modules, against the descriptor's schema, and with the guide's
// examples. `npm install` here fetches the compiler. UPDATE_EXPECT=1 writes the descriptor's declarations.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { declarations } from "./descriptor.js";
import { surface } from "./surface.js";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const read = (name) => readFileSync(path(name), "utf8");

/** The compiler's errors for these files, in a project that has the SDK, with the template's settings. */
function errors(files, options = {}) {
  const folder = mkdtempSync(path("./files-"));
  try {
    mkdirSync(`${folder}/node_modules`);
    symlinkSync(path("../../js"), `${folder}/node_modules/informant-plugin`);
    symlinkSync(path("./node_modules/kubernetes-types"), `${folder}/node_modules/kubernetes-types`);
    const compilerOptions = { skipLibCheck: false, ...options };
    writeFileSync(`${folder}/tsconfig.json`, JSON.stringify({ extends: path("../template/tsconfig.json"), compilerOptions, include: ["."] }));
    for (const [name, text] of Object.entries(files)) writeFileSync(`${folder}/${name}`, text);
    const tsc = path("./node_modules/typescript/bin/tsc");
    const { stdout, stderr } = spawnSync(process.execPath, [tsc, "--project", folder, "--pretty", "false"], { encoding: "utf8", cwd: folder });
    return `${stdout}${stderr}`.trim();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const HEAD = 'import { after, eventData, HostError, http, indexer, kube, log, never, plugin, state, type Event, type LazyEvent } from "informant-plugin";\n';
const PODS = '{ version: "1", subscriptions: [{ resource: "v1/pods" }] }';

const check = (text, expected) => {
  const found = errors({ "plugin.ts": `${HEAD}${text}\n` });
  assert.match(found, expected, text);
};

test("the descriptor's declarations are those of its schema", () => {
  const file = path("../../js/src/descriptor.d.ts");
  const text = declarations(JSON.parse(read("../../descriptor.schema.json")));
  if (process.env.UPDATE_EXPECT === "1") writeFileSync(file, text);
  assert.equal(readFileSync(file, "utf8"), text, "UPDATE_EXPECT=1 node --test plugin-sdk/typescript/tests writes it");
});

test("declarations have all that the modules have, and no more", async () => {
  await import("../../js/testing/register.js");
  const [sdk, testing] = await Promise.all([import("../../js/src/index.js"), import("../../js/testing/index.js")]);
  let event;
  const exports = sdk.plugin({ describe: { version: "1", subscriptions: [{ resource: "v1/pods" }] }, handle: (one) => void (event = one) });
  new testing.Host(exports).add("v1/pods", { metadata: { name: "a" } });
  const text = surface(sdk, testing, event, exports);
  assert.equal(errors({ "surface.ts": text }, { types: ["node"], typeRoots: [path("./node_modules/@types")] }), "");
  // The comparison refuses what differs.
  const wrong = { ...sdk, more: 1, hostInfo: { ...sdk.hostInfo, isLeader: (one) => one }, metrics: { counterAdd: sdk.metrics.counterAdd } };
  const found = errors({ "surface.ts": surface(wrong, testing, event, exports) }, { types: ["node"], typeRoots: [path("./node_modules/@types")] });
  assert.equal(found.split("\n").length, 3, found);
});

test("a plugin that uses everything compiles, and does what its types say", async () => {
  assert.equal(errors({ "plugin.ts": read("../fails/src/plugin.ts") }), "");
  const { Host } = await import("../../js/testing/index.js");
  const fails = await import("../fails/src/plugin.ts");
  const pod = (name, does) => ({ metadata: { namespace: "shop", name, labels: { app: "sdk" }, annotations: { does } } });
  const host = new Host(fails);
  host.answerRequest = () => ({ status: 204, body: new TextEncoder().encode('{"ok": true}') });
  host.put("v1/pods", pod("db", ""));
  assert.equal(host.add("v1/pods", pod("web", "use")), null);
  const used = "info used name=web none=true app=sdk+ of=1 same=true found=true value=2 keys=1 swapped=true queued=true pods=true synced=true";
  const denied = Array(5).fill("not-granted").join();
  assert.equal(host.lines.at(-1), `${used} leader=true plugin=test version=3 shard=0/1 old=true refused=none denied=${denied} closed=none`);
  assert.deepEqual(host.add("v1/pods", pod("a", "wait")), { message: "asked to wait", retry: { tag: "after-ms", val: 50 } });
  // In Node.js, too, a stack names the lines of the source.
  host.add("v1/pods", pod("a", "panic"));
  const line = read("../fails/src/plugin.ts").split("\n").findIndex((text) => text.includes("asked to panic by")) + 1;
  assert.match(host.lines.at(-1), new RegExp(`fails/src/plugin\\.ts:${line}:`));
});

test("the guides' examples compile", () => {
  for (const guide of ["../README.md", "../../js/README.md"]) {
    const blocks = [...read(guide).matchAll(/\n```[jt]s\n(.*?)\n```/gs)].map(([, text]) => text);
    assert.notEqual(blocks.length, 0, guide);
    for (const text of blocks) assert.equal(errors({ "plugin.ts": text }), "", text);
  }
});

test("types that are wrong are refused", () => {
  check(`plugin({ describe: ${PODS}, handle(event) { event.change satisfies "added" | "updated" | "deleted"; } });`, /^$/);
  check(`plugin({ describe: ${PODS}, async handle() {} });`, /plugin\.ts\(2,.*Promise<void>/);
  check(`plugin({ describe: ${PODS}, handle(event) { event.kind; } });`, /'kind' does not exist/);
  check(`plugin({ describe: ${PODS}, handle(event) { event.object.spec.nodeName; } });`, /of type 'unknown'/);
  check(`plugin({ describe: ${PODS}, handle(event: LazyEvent) { event.object satisfies null; } });`, /^$/);
  check('plugin({ describe: { subscriptions: [] } });', /'version' is missing/);
  check('plugin({ describe: { version: "1", subscription: [] } });', /subscription/);
  check('plugin({ describe: { version: "1", schedules: [{ name: "a", every: "1s", cron: "* * * * *" }] } });', /cron/);
  check('plugin({ describe: { version: "1", writes: [{ resource: "v1/pods", verbs: ["get"] }] } });', /"get"/);
  check(`plugin({ describe: ${PODS}, snapshot: () => ({ a: 1 }), restore(from, known) { known.b; } });`, /'b' does not exist/);
  check('kube.patch("v1/pods", "a/b", {}, "replace");', /"replace"/);
  check('indexer.get("v1/pods", "a/b").metadata;', /possibly 'null'/);
  check('try {} catch (error) { if (error instanceof HostError && error.kind === "gone") log.info(); }', /no overlap/);
  check("process.exit(1);", /'process'/);
  check("setTimeout(() => {}, 1);", /'setTimeout'/);
});

test("Kubernetes' own types fit", () => {
  const found = errors({
    "plugin.ts": `import type { Pod } from "kubernetes-types/core/v1";
${HEAD}
plugin({ describe: ${PODS}, handle(event: Event<Pod>) { event.object.spec?.nodeName satisfies string | undefined; } });
indexer.get<Pod>("v1/pods", "a/b")?.status?.phase;
`,
  });
  assert.equal(found, "");
});

test("no declaration is `any`", () => {
  for (const file of ["src/index", "src/host", "src/failure", "src/log", "src/json", "src/descriptor", "testing/index"]) {
    assert.doesNotMatch(read(`../../js/${file}.d.ts`).replace(/\/\*.*?\*\/|\/\/.*/gs, ""), /\bany\b/, file);
  }
  assert.ok(existsSync(path("../../js/testing/register.d.ts")));
});
