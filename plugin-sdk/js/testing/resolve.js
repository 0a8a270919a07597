// In a test, `informant:plugin/log@0.1.0` is a file. TypeScript loses its types on the way: older versions of Node.js do
// not read it, and newer ones only a part of it.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export function resolve(specifier, context, next) {
  const found = specifier.match(/^informant:plugin\/([a-z-]+)@/);
  if (found === null) return next(specifier, context);
  return { url: new URL(`./host/${found[1]}.js`, import.meta.url).href, shortCircuit: true };
}

export async function load(url, context, next) {
  if (!url.startsWith("file:") || !/\.m?tsx?$/.test(url)) return next(url, context);
  const sourcefile = fileURLToPath(url);
  const loader = url.endsWith("x") ? "tsx" : "ts";
  const { transform } = await import("esbuild");
  const { code } = await transform(await readFile(sourcefile, "utf8"), { loader, sourcefile, sourcemap: "inline", target: "es2022" });
  return { format: "module", source: code, shortCircuit: true };
}
