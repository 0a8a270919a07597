// A bundle as a script, the text of a function from the host's modules to the plugin's exports; and its top level, run at a
// build without a host.

import vm from "node:vm";
import { GIVEN } from "./src/given.js";
import { TABLE, TEXT } from "./src/places.js";

const IMPORT = /^import (?:\* as ([\w$]+)|\{([^}]*)\}) from "(informant:plugin\/[^"]+)";$/gm;
const EXPORT = /^export \{([^}]*)\};\s*$/m;
const RENAMED = /([\w$]+) as ([\w$]+)/g;
const HOST = "informant-plugin: host";
/** A top level that takes longer is not waited for. */
const TIME_MAX_MS = 5_000;

/** The script, whose lines are the bundle's. Null for a bundle that is more than a function can be. */
export function script(bundled, places) {
  const plain = JSON.stringify({ ...places, name: TEXT }).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const table = `globalThis[${JSON.stringify(TABLE)}] = ${plain};`;
  const body = bundled
    .replace(IMPORT, (_, all, some, module) => `const ${all ?? `{${some.replace(RENAMED, "$1: $2")}}`} = host[${JSON.stringify(module)}];`)
    .replace(EXPORT, (_, names) => `${table} return {${names.replace(RENAMED, "$2: $1")}};`);
  const made = `(function (host) {"use strict";${body}})`;
  try {
    new vm.Script(made);
  } catch {
    return null;
  }
  return made;
}

/**
 * Runs the script's top level, where no host is. Returns the names of the functions that `plugin` got, null if it was not
 * called. Throws what the top level throws.
 */
export function given(made) {
  let names = null;
  const refuse = () => {
    throw new Error("a plugin's top level calls no function of the host");
  };
  const host = new Proxy({}, { get: () => new Proxy({}, { get: () => refuse }) });
  const context = vm.createContext({ [HOST]: host, [GIVEN]: (more) => void (names = [...(names ?? []), ...more]) });
  vm.runInContext(`delete globalThis.console; ${made}(globalThis[${JSON.stringify(HOST)}]);`, context, { timeout: TIME_MAX_MS });
  return names;
}
