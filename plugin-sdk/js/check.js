// Checks the types of a plugin in TypeScript with the project's own compiler.

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** The command of the project's compiler: since version 7 a program of its own, else a script. None if the project has none. */
async function compiler() {
  try {
    const manifest = createRequire(resolve("package.json")).resolve("typescript/package.json");
    const script = join(dirname(manifest), JSON.parse(readFileSync(manifest)).bin.tsc);
    // The script only starts the program, which takes longer than most checks.
    const path = pathToFileURL(join(dirname(manifest), "lib/getExePath.js"));
    const program = await import(path).then((found) => found.default()).catch(() => null);
    return program === null ? [process.execPath, script] : [program];
  } catch {
    return null;
  }
}

/** The compiler's errors, each with its file and line; empty without any, and without a compiler or `tsconfig.json`. */
export async function typeErrors() {
  const tsc = existsSync("tsconfig.json") ? await compiler() : null;
  if (tsc === null) return "";
  const [program, ...script] = tsc;
  const check = spawn(program, [...script, "--noEmit", "--pretty", "false"], { stdio: ["ignore", "pipe", "inherit"] });
  const parts = [];
  check.stdout.on("data", (part) => parts.push(part));
  const code = await new Promise((resolve, reject) => {
    check.on("error", reject);
    check.on("close", resolve);
  });
  const said = Buffer.concat(parts).toString();
  return code === 0 ? "" : said || `tsc failed with ${code}`;
}
