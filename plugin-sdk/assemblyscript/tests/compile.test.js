// The build's messages about invalid plugins, and the checks of the SDK's documentation.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { coreType } from "../testing/abi.js";
import { EXPORTS, IMPORTS } from "../testing/contract.js";

// The compiler checks once, when it is loaded, whether it runs in a CI, and would then write colours.
process.env.CI = "true";
const { compile, CompileError } = await import("../compile.js");

const HEAD = 'import { Config, Descriptor, Event, Failure, log } from "informant-plugin-assemblyscript";\n';
const DESCRIBE = 'export function describe(config: Config): Descriptor { return new Descriptor("1"); }\n';
const HANDLE = "export function handle(event: Event): Failure | null { return null; }\n";

/** Compiles a file with this text. Returns the names of its imports and exports, or the problem. */
async function made(text) {
  const folder = await mkdtemp(join(tmpdir(), "informant-"));
  try {
    await writeFile(join(folder, "plugin.ts"), text);
    const module = new WebAssembly.Module(await compile("plugin.ts", { folder }));
    return [WebAssembly.Module.imports(module).map(({ module: from, name }) => `${from} ${name}`), WebAssembly.Module.exports(module).map(({ name }) => name)];
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return error.message;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function check(text, ...parts) {
  const problem = await made(text);
  for (const part of parts) assert.match(String(problem), part, text);
}

test("what cannot be a plugin is refused, with its place or what to do", async () => {
  await check(HEAD + HANDLE, /export function describe\(config: Config\): Descriptor/);
  await check(HEAD + DESCRIBE, /nothing would ever be called: export function handle\(event: Event\): Failure \| null/);
  await check(`${HEAD + DESCRIBE + HANDLE}export function snapshot(): Uint8Array | null { return null; }`, /exports snapshot, and there is no restore/);
  await check(`${HEAD + DESCRIBE + HANDLE}export function restore(from: string, data: Uint8Array): Failure | null { return null; }`, /there is no snapshot/);
  await check(`${HEAD + DESCRIBE}export function handle(event: Event): Failure | null { return nul; }`, /ERROR TS2304: Cannot find name 'nul'/, /\n\nplugin\.ts\(3,\d+\): Cannot find name 'nul'\.$/);
  await check(`${HEAD + DESCRIBE}export function handle(event: Event): Failure | null {`, /ERROR TS1126: Unexpected end of text/, /\n\nplugin\.ts\(3,\d+\): Unexpected end of text\.$/);
  // The compiler shows the calling line, whose comment has the right form.
  await check(`${HEAD + DESCRIBE}export function handle(event: Event): void {}`, /'void' is not assignable/, /handle\(event: Event\): Failure \| null/);
  await check(`${HEAD + DESCRIBE}export function handle(event: Event): Failure | null { process.exit(1); return null; }`, /no host has env\.process\.exit/);
  await check(`import { a } from "./none";${HEAD + DESCRIBE + HANDLE}`, /File '.*none.ts' not found/);
});

/** The warnings for a valid plugin. */
async function warned(text, ...options) {
  const folder = await mkdtemp(join(tmpdir(), "informant-"));
  const warnings = [];
  await writeFile(join(folder, "plugin.ts"), text);
  await compile("plugin.ts", { folder, options: ["-O1", ...options], warn: (text) => warnings.push(text) });
  await rm(folder, { recursive: true });
  return warnings.join();
}

test("what the compiler only warns of is told", async () => {
  assert.match(await warned(HEAD + DESCRIBE + HANDLE, "--pedantic"), /PEDANTIC/);
});

test("a function that no host calls is named", async () => {
  const others = "export class Kept {}\nexport const limit: i32 = 1;\nfunction own(): void {}\nexport function stop(): void { own(); }\n";
  assert.equal(await warned(HEAD + DESCRIBE + HANDLE + others), "");
  const known = "describe, start, stop, handle, synced, reconcile, fire, snapshot, restore";
  assert.equal(
    await warned(`${HEAD + DESCRIBE + HANDLE}export function snyced(subscription: u32): Failure | null { return null; }`),
    `WARNING: the plugin exports the function snyced, and no host calls it: a host calls ${known}`,
  );
});

test("a null by itself is no number", async () => {
  const making = (json) => `${HEAD.replace("log", "Json, log")}${DESCRIBE}export function handle(event: Event): Failure | null {\n  log.info(${json}.toString());\n  return null;\n}`;
  const problem = /\n\nplugin\.ts\(4,\d+\): a Json is made of null, or of an usize: write Json\.null\(\), or a number as <u32>value$/;
  for (const json of ['Json.object().set("x", null)', "Json.array().push(null)", "Json.of(null)"]) await check(making(json), problem);
  assert.ok(Array.isArray(await made(making('Json.object().set("x", <u32>0)'))));
});

test("a plugin imports what it uses, and exports what its file does", async () => {
  const [imports, exports] = await made(HEAD + DESCRIBE + HANDLE);
  assert.deepEqual([...new Set(imports)].sort(), ["informant:plugin/log@0.1.0 enabled", "informant:plugin/log@0.1.0 log"]);
  const functions = ["lifecycle@0.1.0#describe", "lifecycle@0.1.0#start", "lifecycle@0.1.0#stop", "handler@0.1.0#handle"].map((it) => `informant:plugin/${it}`);
  const post = functions.filter((it) => !it.endsWith("#stop")).map((it) => `cabi_post_${it}`);
  assert.deepEqual(exports.toSorted(), ["memory", "cabi_realloc", "_initialize", ...functions, ...post].sort());
  const [clock, adapted] = await made(`${HEAD + DESCRIBE}export function fire(schedule: string, unixMs: i64): Failure | null { Date.now(); return null; }`);
  assert.ok(clock.includes("wasi_snapshot_preview1 clock_time_get"), `${clock}`);
  // The adapter has its own memory.
  assert.ok(adapted.includes("cabi_realloc_adapter"), `${adapted}`);
});

test("the plugin of the README compiles", async () => {
  const text = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const [, plugin] = text.match(/```ts\n(.*?)```/s);
  const [, exports] = await made(plugin);
  assert.ok(exports.includes("informant:plugin/handler@0.1.0#handle"), plugin);
});

test("the stand-in for the host has the contract's functions, and their types", async () => {
  const text = await readFile(new URL("../../reference.md", import.meta.url), "utf8");
  const all = [...text.matchAll(/^\| \[`([a-z-]+)\.([a-z-]+)`\]\([^)]*\) \| `\(([^)]*)\)(?: -> (\w+))?` \|/gm)];
  // A plugin may export it beside `handler`, and the compiler never does.
  const rows = all.filter(([, api]) => api !== "flat-handler");
  assert.equal(all.length, rows.length + 2);
  const known = Object.entries({ ...EXPORTS, ...IMPORTS }).flatMap(([api, its]) => Object.keys(its).map((name) => `${api}.${name}`));
  assert.deepEqual(rows.map(([, api, name]) => `${api}.${name}`).sort(), known.sort());
  for (const [, api, name, parameters, result] of rows) {
    const type = coreType(EXPORTS[api]?.[name] ?? IMPORTS[api][name], api in IMPORTS);
    assert.deepEqual(type, [parameters.split(" ").filter(Boolean), result === undefined ? [] : [result]], `${api}.${name}`);
  }
});
