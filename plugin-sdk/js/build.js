#!/usr/bin/env node
// informant-plugin PLUGIN.js OUT.wasm: builds a plugin from one file in JavaScript or TypeScript and its imports. The
// file's exports are the plugin's. INFORMANT_DEV=1 builds quickly where that is possible (quick.js), with a smaller QuickJS,
// which runs slower.

import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { bundle } from "./bundle.js";
import { typeErrors } from "./check.js";
import { quick } from "./quick.js";
import { given, script } from "./script.js";
import { placed, TABLE } from "./src/places.js";
import { warnings, withWorld } from "./world.js";

const [file, out] = process.argv.slice(2);
const isDev = process.env.INFORMANT_DEV === "1";
if (out === undefined) {
  console.error("usage: informant-plugin PLUGIN.js OUT.wasm");
  process.exit(2);
}

function fail(problem) {
  console.error(problem);
  process.exit(1);
}

/** Shows what no host calls. Whether the top level succeeds; an error is componentize-qjs's to show. */
function look(made, names) {
  let functions;
  try {
    functions = given(made);
  } catch {
    return false;
  }
  for (const warning of functions === null ? [] : warnings(functions, names)) console.error(`warning: ${warning}`);
  return true;
}

/** The message of a build that failed, with the places of the sources. */
function explained(message, places) {
  const [, api, function_] = message.match(/unknown import: `informant:plugin\/([a-z-]+)@[^#]*#([a-z-]+)`/) ?? [];
  if (api === undefined) return placed(message, places).replace(/^[: ]+/, "");
  return `the plugin's top level calls ${api}.${function_}, and a build has no host: call it in \`start\` or later`;
}

/** The component of a source with these exports and imports. */
async function component(jsSource, names, imports) {
  const { componentize } = await import("componentize-qjs");
  const made = await withWorld(names, imports, (world) => componentize({ ...world, jsSource, sync: true, optSize: isDev }));
  return made.component;
}

async function build() {
  const { text, places, names, imports } = await bundle(file);
  const made = script(text, places);
  const isQuick = made !== null && look(made, names) && isDev;
  try {
    const found = isQuick ? await quick(made, names, join(dirname(out), ".quick"), (source) => component(source, names, null)) : null;
    return found ?? (await component(`${text}globalThis[${JSON.stringify(TABLE)}] = ${JSON.stringify(places)};\n`, names, imports));
  } catch (error) {
    return { error: explained(error.message, places) };
  }
}

// The types are checked beside the other steps. A syntax error is esbuild's to show.
const types = /\.[cm]?tsx?$/.test(file) ? typeErrors() : "";
const built = build();
const problems = await types;
if (problems !== "") fail(problems.trimEnd());
const made = await built;
if (made.error !== undefined) fail(`error: ${made.error}`);
await mkdir(dirname(out), { recursive: true });
await writeFile(`${out}.partial`, made);
await rename(`${out}.partial`, out);
console.log(`${out}: ${made.length} bytes`);
