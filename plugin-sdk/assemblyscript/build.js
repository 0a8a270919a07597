#!/usr/bin/env node
// informant-plugin-as PLUGIN.ts OUT.wasm: builds a plugin from one AssemblyScript file and its imports. The file's
// exports decide which functions of the contract the plugin has. It runs in the project's folder.

import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { compile, CompileError } from "./compile.js";

const [file, out] = process.argv.slice(2);
if (out === undefined) {
  console.error("usage: informant-plugin-as PLUGIN.ts OUT.wasm");
  process.exit(2);
}
try {
  const plugin = await compile(file, { warn: (text) => console.error(text) });
  await mkdir(dirname(out), { recursive: true });
  await writeFile(`${out}.partial`, plugin);
  await rename(`${out}.partial`, out);
  console.log(`${out}: ${plugin.length} bytes`);
} catch (error) {
  if (!(error instanceof CompileError)) throw error;
  console.error(error.message);
  process.exit(1);
}
