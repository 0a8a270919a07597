#!/usr/bin/env node
// informant-plugin PLUGIN.js OUT.wasm [WORLD]: builds a plugin from one JavaScript file and its imports. The world
// decides the exports: plugin, controller, timer-only, stateful-plugin or full, as in plugin-sdk/wit/plugin.wit.
// INFORMANT_DEV=1 uses a smaller QuickJS, which runs slower but builds faster.

import { spawn } from "node:child_process";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const [file, out, world = "plugin"] = process.argv.slice(2);
if (out === undefined) {
  console.error("usage: informant-plugin PLUGIN.js OUT.wasm [WORLD]");
  process.exit(2);
}

/**
 * Bundles the file and its imports into one text. It runs esbuild's own program, because loading its library takes
 * longer.
 */
function bundle() {
  const program = fileURLToPath(import.meta.resolve("esbuild/bin/esbuild"));
  const options = ["--bundle", "--format=esm", "--external:informant:*", "--target=es2022", "--keep-names", "--log-level=warning"];
  const esbuild = spawn(program, [file, ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const parts = [];
  esbuild.stdout.on("data", (part) => parts.push(part));
  return new Promise((resolve, reject) => {
    esbuild.on("error", reject);
    esbuild.on("close", (code) => (code === 0 ? resolve(Buffer.concat(parts).toString()) : process.exit(1)));
  });
}

const [jsSource, { componentize }] = await Promise.all([bundle(), import("componentize-qjs")]);
const { component } = await componentize({
  witPath: fileURLToPath(new URL("../wit", import.meta.url)),
  world,
  jsSource,
  sync: true,
  optSize: process.env.INFORMANT_DEV === "1",
});
await mkdir(dirname(out), { recursive: true });
await writeFile(`${out}.partial`, component);
await rename(`${out}.partial`, out);
console.log(`${out}: ${component.length} bytes`);
