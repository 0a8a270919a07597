#!/usr/bin/env node
// informant-plugin [--dev] PLUGIN.js OUT.wasm [WORLD]: one file of JavaScript and what it imports, as a plugin. The world says what is exported: plugin,
// controller, timer-only, stateful-plugin, full, as in plugin-sdk/wit/plugin.wit. With --dev it is made of a smaller QuickJS, which is slower, but ready
// sooner.

import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { componentize } from "componentize-qjs";
import { build } from "esbuild";

const { values: options, positionals } = parseArgs({ options: { dev: { type: "boolean", default: false } }, allowPositionals: true });
const [file, out, world = "plugin"] = positionals;
if (out === undefined) {
  console.error("usage: informant-plugin [--dev] PLUGIN.js OUT.wasm [WORLD]");
  process.exit(2);
}
const bundle = await build({
  entryPoints: [file], bundle: true, write: false, format: "esm", external: ["informant:*"], target: "es2022", keepNames: true,
});
const { component } = await componentize({
  witPath: fileURLToPath(new URL("../wit", import.meta.url)),
  world,
  jsSource: bundle.outputFiles[0].text,
  sync: true,
  optSize: options.dev,
});
await mkdir(dirname(out), { recursive: true });
await writeFile(`${out}.partial`, component);
await rename(`${out}.partial`, out);
console.log(`${out}: ${component.length} bytes`);
