// Checks the types of a plugin in TypeScript with the project's own compiler.

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

/** The compiler's program. None if the project has none. */
function compiler() {
  try {
    const manifest = createRequire(resolve("package.json")).resolve("typescript/package.json");
    return join(dirname(manifest), JSON.parse(readFileSync(manifest)).bin.tsc);
  } catch {
    return null;
  }
}

/** The compiler's errors, each with its file and line; empty without any, and without a compiler or `tsconfig.json`. */
export async function typeErrors() {
  const tsc = existsSync("tsconfig.json") ? compiler() : null;
  if (tsc === null) return "";
  const check = spawn(process.execPath, [tsc, "--noEmit", "--pretty", "false"], { stdio: ["ignore", "pipe", "inherit"] });
  const parts = [];
  check.stdout.on("data", (part) => parts.push(part));
  const code = await new Promise((resolve, reject) => {
    check.on("error", reject);
    check.on("close", resolve);
  });
  const said = Buffer.concat(parts).toString();
  return code === 0 ? "" : said || `tsc failed with ${code}`;
}
