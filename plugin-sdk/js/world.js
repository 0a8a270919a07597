// The world of the contract for a plugin: what its file exports.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const CONTRACT = new URL("../wit/plugin.wit", import.meta.url);
/** The names of exports here and in the contract. */
const INTERFACES = { lifecycle: "lifecycle", handler: "handler", reconciler: "reconciler", timer: "timer", syncAware: "sync-aware", stateful: "stateful" };
/** The functions of a plugin that a host calls by each. */
export const FUNCTIONS = {
  lifecycle: ["describe", "start", "stop"], handler: ["handle"], reconciler: ["reconcile"], timer: ["fire"], syncAware: ["synced"],
  stateful: ["snapshot", "restore"],
};
/** Exports that fail at each call without their function. */
const NEEDED = ["handler", "reconciler", "timer"];

/** The contract with a world of these exports and imports, by default all. Throws if the exports are no plugin. */
export function contract(text, names, imports = null) {
  const called = Object.keys(INTERFACES).filter((name) => names.includes(name));
  if (!called.includes("lifecycle")) {
    throw new Error("the file exports no lifecycle; write: export const { lifecycle, handler } = plugin({ ... })");
  }
  const exported = called.map((name) => `    export ${INTERFACES[name]};\n`).join("");
  const imported = imports === null ? "    include imports;\n" : imports.map((name) => `    import ${name};\n`).join("");
  return `${text}\nworld made {\n${imported}${exported}}\n`;
}

/** A warning for each function that no host calls, and for each export without its function. */
export function warnings(functions, names) {
  const found = functions.flatMap((name) => {
    const by = Object.keys(FUNCTIONS).find((it) => FUNCTIONS[it].includes(name));
    if (by === undefined) return [`\`${name}\` is never called: a host calls ${Object.values(FUNCTIONS).flat().join(", ")}`];
    return names.includes(by) ? [] : [`\`${name}\` is never called: export \`${by}\``];
  });
  const lacking = NEEDED.filter((name) => names.includes(name) && !functions.includes(FUNCTIONS[name][0]));
  return [...found, ...lacking.map((name) => `\`${name}\` is exported, and there is no \`${FUNCTIONS[name][0]}\``)];
}

/** Calls f with the place of that contract and its world. */
export async function withWorld(names, imports, f) {
  const text = contract(await readFile(CONTRACT, "utf8"), names, imports);
  const witPath = await mkdtemp(join(tmpdir(), "informant-"));
  try {
    await writeFile(join(witPath, "plugin.wit"), text);
    return await f({ witPath, world: "made" });
  } finally {
    await rm(witPath, { recursive: true });
  }
}
