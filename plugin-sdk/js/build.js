#!/usr/bin/env node
// informant-plugin PLUGIN.js OUT.wasm [WORLD]: builds a plugin from one file in JavaScript or TypeScript and its imports.
// The world decides the exports: plugin, controller, timer-only, stateful-plugin or full, as in
// plugin-sdk/wit/plugin.wit. INFORMANT_DEV=1 uses a smaller QuickJS, which runs slower but builds faster.

import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.js";
import { typeErrors } from "./check.js";
import { placed } from "./src/places.js";

const [file, out, world = "plugin"] = process.argv.slice(2);
if (out === undefined) {
  console.error("usage: informant-plugin PLUGIN.js OUT.wasm [WORLD]");
  process.exit(2);
}

function fail(problem) {
  console.error(problem);
  process.exit(1);
}

// The types are checked beside the other steps. A syntax error is esbuild's to show.
const types = /\.[cm]?tsx?$/.test(file) ? typeErrors() : "";
const [{ jsSource, places }, { componentize }] = await Promise.all([bundle(file), import("componentize-qjs")]);
const made = componentize({
  witPath: fileURLToPath(new URL("../wit", import.meta.url)),
  world,
  jsSource,
  sync: true,
  optSize: process.env.INFORMANT_DEV === "1",
}).catch((error) => ({ error }));
const problems = await types;
if (problems !== "") fail(problems.trimEnd());
const { component, error } = await made;
if (error !== undefined) fail(`error: ${placed(error.message, places).replace(/^[: ]+/, "")}`);
await mkdir(dirname(out), { recursive: true });
await writeFile(`${out}.partial`, component);
await rename(`${out}.partial`, out);
console.log(`${out}: ${component.length} bytes`);
