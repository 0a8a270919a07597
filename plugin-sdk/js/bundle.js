// Bundles a plugin's first file and its imports into one text, with the table of its places. It runs esbuild's own
// program, because loading its library takes longer.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const OPTIONS = [
  "--bundle", "--format=esm", "--external:informant:*", "--target=es2022", "--keep-names", "--log-level=warning",
  "--sourcemap=inline", "--sources-content=false",
];
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The numbers of one segment of a source map. */
function numbers(segment) {
  const found = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    found.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return found;
}

/** The table that `placed` reads. A line has more than one place where a later column is another line of a file. */
export function table({ sources, mappings }) {
  let [file, line] = [0, 0];
  const lines = mappings.split(";").map((segments) => {
    let column = 0;
    const places = [];
    for (const segment of segments.split(",").filter(Boolean)) {
      const [columns, files = 0, ofLines = 0] = numbers(segment);
      [column, file, line] = [column + columns, file + files, line + ofLines];
      if (!places.at(-1)?.endsWith(`,${file},${line + 1}`)) places.push(`${column},${file},${line + 1}`);
    }
    return places.join(" ");
  });
  return { files: sources, lines: lines.join(";") };
}

/** The names that a bundle exports, which stand in its last statement. */
export function exported(text) {
  const [, names = ""] = text.match(/\bexport \{([^}]*)\};?\s*$/) ?? [];
  return names.split(",").map((name) => name.trim().split(" as ").at(-1)).filter(Boolean);
}

const IMPORT = /^import (?:\* as ([\w$]+)|.*) from "informant:plugin\/([a-z-]+)@[^"]+";$/gm;

/**
 * The text without the interfaces that nothing in it uses, and the names of the others. esbuild removes the functions of the
 * SDK that a plugin does not use, and leaves their imports. The lines stay.
 */
export function used(bundled) {
  const imports = new Set();
  const text = bundled.replace(IMPORT, (statement, all, name) => {
    if (all !== undefined && bundled.split(all).length === 2) return "";
    imports.add(name);
    return statement;
  });
  return { text, imports: [...imports].sort() };
}

/** The bundle's text, its table and the names of its exports and imports. Ends the process with 1 after an error, which esbuild has shown. */
export async function bundle(file) {
  const program = fileURLToPath(import.meta.resolve("esbuild/bin/esbuild"));
  const esbuild = spawn(program, [file, ...OPTIONS], { stdio: ["ignore", "pipe", "inherit"] });
  const parts = [];
  esbuild.stdout.on("data", (part) => parts.push(part));
  const code = await new Promise((resolve, reject) => {
    esbuild.on("error", reject);
    esbuild.on("close", resolve);
  });
  if (code !== 0) process.exit(1);
  const [text, map] = Buffer.concat(parts).toString().split("//# sourceMappingURL=data:application/json;base64,");
  const places = table(JSON.parse(Buffer.from(map, "base64").toString()));
  return { ...used(text), places, names: exported(text) };
}
