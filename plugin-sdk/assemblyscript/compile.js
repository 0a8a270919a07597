// Compiles a plugin with the language's compiler, and gives its exports the contract's names.

import { readFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import "./v8.js";
import { ElementKind } from "assemblyscript";
import * as asc from "assemblyscript/asc";
import binaryen from "assemblyscript/binaryen";

const SDK = dirname(fileURLToPath(import.meta.url));
const PACKAGE = "informant-plugin-assemblyscript";
const VERSION = "0.1.0";

/** The first compiled file, before the plugin's own: assembly/exports.ts of the SDK. */
const ENTRY = "informant-exports";

/** The possible exports of a plugin's file, with their functions of the contract. */
const FUNCTIONS = {
  describe: ["lifecycle", "describe"],
  start: ["lifecycle", "start"],
  stop: ["lifecycle", "stop"],
  handle: ["handler", "handle"],
  synced: ["sync-aware", "synced"],
  reconcile: ["reconciler", "reconcile"],
  fire: ["timer", "fire"],
  snapshot: ["stateful", "snapshot"],
  restore: ["stateful", "restore"],
};
const ALWAYS = ["describe", "start", "stop"];
const CALLED = ["handle", "reconcile", "fire"];
const PREVIEW1 = "wasi_snapshot_preview1";

/** The mistakes of a plugin, as lines for people: the compiler's messages, or the missing exports. */
export class CompileError extends Error {}

/** The exports of the plugin, by the names that its file exports. */
function exported(has) {
  const names = Object.keys(FUNCTIONS).filter(has);
  if (!names.includes("describe")) throw new CompileError("the plugin does not say what it wants: export function describe(config: Config): Descriptor");
  if (!names.some((name) => CALLED.includes(name))) {
    throw new CompileError("nothing would ever be called: export function handle(event: Event): Failure | null, or reconcile, or fire");
  }
  for (const [one, other] of [["snapshot", "restore"], ["restore", "snapshot"]]) {
    if (names.includes(one) && !names.includes(other)) throw new CompileError(`the plugin exports ${one}, and there is no ${other}: memory is carried by both`);
  }
  return [...new Set([...ALWAYS, ...names])];
}

/** Exports of the file that no host calls: probably misspelt names. */
function uncalled(file) {
  const all = [...(file.exports ?? [])].filter(([name, { kind }]) => kind === ElementKind.FunctionPrototype && FUNCTIONS[name] === undefined);
  const known = Object.keys(FUNCTIONS).join(", ");
  return all.map(([name]) => `WARNING: the plugin exports the function ${name}, and no host calls it: a host calls ${known}`);
}

/** Renames the remaining exports and removes all others, before the compiler looks for unused code. */
function rename(module, names) {
  const kept = new Map([["memory", "memory"], ["cabi_realloc", "cabi_realloc"], ["_initialize", "_initialize"]]);
  const post = [];
  for (const name of names) {
    const [api, function_] = FUNCTIONS[name];
    const external = `informant:plugin/${api}@${VERSION}#${function_}`;
    kept.set(`${api}_${function_}`.replaceAll("-", "_"), external);
    if (name !== "stop") post.push(`cabi_post_${external}`);
  }
  const imports = importsOf(module);
  if (imports.some(([from]) => from === PREVIEW1)) kept.set("cabi_realloc_adapter", "cabi_realloc_adapter");
  for (const { name, value } of exportsOf(module)) {
    if (name === "cabi_post") post.forEach((external) => module.addFunctionExport(value, external));
    const external = kept.get(name);
    if (external === name) continue;
    module.removeExport(name);
    if (external !== undefined) module.addFunctionExport(value, external);
  }
}

function exportsOf(module) {
  return Array.from({ length: module.getNumExports() }, (_, place) => binaryen.getExportInfo(module.getExportByIndex(place)));
}

/** Module and name of every imported function. */
function importsOf(module) {
  const all = Array.from({ length: module.getNumFunctions() }, (_, place) => binaryen.getFunctionInfo(module.getFunctionByIndex(place)));
  return all.filter(({ module: from }) => from).map(({ module: from, base }) => [from, base]);
}

/** The host has no `env`: functions of a browser or of Node.js that the standard library would use do not exist. */
function checkImports(module) {
  const unknown = importsOf(module).filter(([from]) => from !== PREVIEW1 && !from.startsWith("informant:plugin/"));
  if (unknown.length === 0) return;
  const names = unknown.map(([from, name]) => `${from}.${name}`).join(", ");
  throw new CompileError(`no host has ${names}: a plugin may call what ${PACKAGE} offers, Date.now, Math.random, crypto.getRandomValues and console`);
}

/** Finds files for the compiler: the installed SDK, and the plugin's own files. */
function reader(file) {
  const inPackage = `node_modules/${PACKAGE}/`;
  return async (name, folder) => {
    if (name === `${ENTRY}.ts`) {
      const text = await readFile(join(SDK, "assembly", "exports.ts"), "utf8");
      return text.replace('from "informant:plugin"', `from ${JSON.stringify(`./${file.replace(/\.ts$/, "")}`)}`);
    }
    const path = name.split(sep).join("/");
    const at = path.lastIndexOf(inPackage);
    try {
      return await readFile(at < 0 ? resolve(folder, name) : join(SDK, path.slice(at + inPackage.length)), "utf8");
    } catch (error) {
      if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "EISDIR") return null;
      throw error;
    }
  };
}

/** The work between the compiler's steps. */
class Steps {
  warnings = [];
  constructor(file) {
    this.file = file.replace(/\.ts$/, "");
  }
  afterInitialize(program) {
    const file = program.filesByName.get(this.file);
    this.names = exported((name) => file.lookupExport(name) !== null);
    this.warnings = uncalled(file);
  }
  afterCompile(module) {
    rename(module, this.names);
    checkImports(module);
  }
}

/**
 * The compiler's lines, with the first mistake on one line at their end, because a log has room for one line. A
 * mistake in a type is reported in the SDK; the compiler has warned about the plugin's own line before.
 */
function inWords(said) {
  const lines = said.trim().replace(/\n+FAILURE \d+ [a-z]+ error\(s\)$/i, "");
  const first = lines.match(/^ERROR \w+: (.*)\n[^]*?─ in (.*)$/m);
  if (first === null) return lines;
  const own = first[2].startsWith("~lib/") ? [...lines.slice(0, first.index).matchAll(/─ in (?!~lib\/)(.*)$/gm)].at(-1) : undefined;
  const words = first[1].replace(/^User-defined: "(.*)"$/, "$1");
  return `${lines}\n\n${own?.[1] ?? first[2]}: ${words}`;
}

const ENVIRONMENT = `~lib/${PACKAGE}/assembly/environment`;
// Without colours: in a CI, the compiler writes colours into a pipe, too.
const OPTIONS = [
  "--noColors", "--runtime", "incremental", "--debug", "--exportStart", "_initialize", "--stackSize", "32768",
  ...["abort", "seed", "trace"].flatMap((name) => ["--use", `${name}=${ENVIRONMENT}/${name}`]),
];

/**
 * The bytes of a plugin, from its first AssemblyScript file. The folder is the project's: paths in messages are
 * relative to it. `warn` gets the compiler's warnings. Throws a CompileError with the compiler's lines.
 */
export async function compile(file, { folder = process.cwd(), options = ["-O2", "--shrinkLevel", "1"], warn = () => {} } = {}) {
  const place = relative(folder, resolve(folder, file)).split(sep).join("/");
  asc.libraryFiles["bindings/dom"] = await readFile(join(SDK, "assembly", "bindings.ts"), "utf8");
  const out = new Map();
  const said = asc.createMemoryStream();
  const steps = new Steps(place);
  const { error } = await asc.main([`${ENTRY}.ts`, "--baseDir", resolve(folder), "--outFile", "plugin.wasm", ...OPTIONS, ...options], {
    stdout: said,
    stderr: said,
    readFile: reader(place),
    writeFile: (name, contents) => void out.set(name, contents),
    listFiles: () => [],
    transforms: [steps],
  });
  if (error) throw error instanceof CompileError ? error : new CompileError(inWords(said.toString()) || error.message, { cause: error });
  const warnings = [...steps.warnings, said.toString().trim()].filter(Boolean).join("\n");
  if (warnings !== "") warn(warnings);
  return out.get("plugin.wasm");
}
