#!/usr/bin/env node
// informant-plugin PLUGIN.js OUT.wasm: builds a plugin from one file in JavaScript or TypeScript and its imports. The
// file's exports are the plugin's. INFORMANT_DEV=1 uses a smaller QuickJS, which runs slower but builds faster.

import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { bundle } from "./bundle.js";
import { typeErrors } from "./check.js";
import { given, script } from "./script.js";
import { placed, TABLE } from "./src/places.js";
import { warnings, withWorld } from "./world.js";

const [file, out] = process.argv.slice(2);
if (out === undefined) {
  console.error("usage: informant-plugin PLUGIN.js OUT.wasm");
  process.exit(2);
}

function fail(problem) {
  console.error(problem);
  process.exit(1);
}

/** Shows what no host calls. An error of the top level is componentize-qjs's to show. */
function warn(made, names) {
  let functions = null;
  try {
    functions = made && given(made);
  } catch {}
  for (const warning of functions === null ? [] : warnings(functions, names)) console.error(`warning: ${warning}`);
}

/** The message of a build that failed, with the places of the sources. */
function explained(message, places) {
  const [, api, function_] = message.match(/unknown import: `informant:plugin\/([a-z-]+)@[^#]*#([a-z-]+)`/) ?? [];
  if (api === undefined) return placed(message, places).replace(/^[: ]+/, "");
  return `the plugin's top level calls ${api}.${function_}, and a build has no host: call it in \`start\` or later`;
}

// The types are checked beside the other steps. A syntax error is esbuild's to show.
const types = /\.[cm]?tsx?$/.test(file) ? typeErrors() : "";
const [{ text, places, names }, { componentize }] = await Promise.all([bundle(file), import("componentize-qjs")]);
const jsSource = `${text}globalThis[${JSON.stringify(TABLE)}] = ${JSON.stringify(places)};\n`;
const made = withWorld(names, (world) =>
  componentize({ ...world, jsSource, sync: true, optSize: process.env.INFORMANT_DEV === "1" }),
).catch((error) => ({ error }));
warn(script(text, places), names);
const problems = await types;
if (problems !== "") fail(problems.trimEnd());
const { component, error } = await made;
if (error !== undefined) fail(`error: ${explained(error.message, places)}`);
await mkdir(dirname(out), { recursive: true });
await writeFile(`${out}.partial`, component);
await rename(`${out}.partial`, out);
console.log(`${out}: ${component.length} bytes`);
