// The world of the contract for a plugin: what its file exports.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const CONTRACT = new URL("../wit/plugin.wit", import.meta.url);
/** The names of exports here and in the contract. */
const INTERFACES = { lifecycle: "lifecycle", handler: "handler", reconciler: "reconciler", timer: "timer", syncAware: "sync-aware", stateful: "stateful" };

/** The contract with a world of these exports. Throws if they are no plugin. */
export function contract(text, names) {
  const called = Object.keys(INTERFACES).filter((name) => names.includes(name));
  if (!called.includes("lifecycle")) {
    throw new Error("the file exports no lifecycle; write: export const { lifecycle, handler } = plugin({ ... })");
  }
  const exported = called.map((name) => `    export ${INTERFACES[name]};\n`).join("");
  return `${text}\nworld made {\n    include imports;\n${exported}}\n`;
}

/** Calls f with the place of that contract and its world. */
export async function withWorld(names, f) {
  const text = contract(await readFile(CONTRACT, "utf8"), names);
  const witPath = await mkdtemp(join(tmpdir(), "informant-"));
  try {
    await writeFile(join(witPath, "plugin.wit"), text);
    return await f({ witPath, world: "made" });
  } finally {
    await rm(witPath, { recursive: true });
  }
}
