#!/usr/bin/env node
// informant-plugin PLUGIN.js OUT.wasm: builds a plugin from one file in JavaScript or TypeScript and its imports. The
// file's exports are the plugin's. INFORMANT_DEV=1 uses a smaller QuickJS, which runs slower but builds faster.

import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { bundle } from "./bundle.js";
import { typeErrors } from "./check.js";
import { placed } from "./src/places.js";
import { withWorld } from "./world.js";

const [file, out] = process.argv.slice(2);
if (out === undefined) {
  console.error("usage: informant-plugin PLUGIN.js OUT.wasm");
  process.exit(2);
}

function fail(problem) {
  console.error(problem);
  process.exit(1);
}

// The types are checked beside the other steps. A syntax error is esbuild's to show.
const types = /\.[cm]?tsx?$/.test(file) ? typeErrors() : "";
const [{ jsSource, places, names }, { componentize }] = await Promise.all([bundle(file), import("componentize-qjs")]);
const made = withWorld(names, (world) =>
  componentize({ ...world, jsSource, sync: true, optSize: process.env.INFORMANT_DEV === "1" }),
).catch((error) => ({ error }));
const problems = await types;
if (problems !== "") fail(problems.trimEnd());
const { component, error } = await made;
if (error !== undefined) fail(`error: ${placed(error.message, places).replace(/^[: ]+/, "")}`);
await mkdir(dirname(out), { recursive: true });
await writeFile(`${out}.partial`, component);
await rename(`${out}.partial`, out);
console.log(`${out}: ${component.length} bytes`);
