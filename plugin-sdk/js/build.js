#!/usr/bin/env node
// informant-plugin PLUGIN.js OUT.wasm [WORLD]: one file of JavaScript and what it imports, as a plugin. The world says what is exported: plugin,
// controller, timer-only, stateful-plugin, full, as in plugin-sdk/wit/plugin.wit. With INFORMANT_DEV=1 it is made of a smaller QuickJS, which is
// slower, but ready sooner.

import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { componentize } from "componentize-qjs";
import { build } from "esbuild";

const [file, out, world = "plugin"] = process.argv.slice(2);
if (out === undefined) {
  console.error("usage: informant-plugin PLUGIN.js OUT.wasm [WORLD]");
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
  optSize: process.env.INFORMANT_DEV === "1",
});
await mkdir(dirname(out), { recursive: true });
await writeFile(`${out}.partial`, component);
await rename(`${out}.partial`, out);
console.log(`${out}: ${component.length} bytes`);
