// The plugin that logs the SDK's results for a text, and the function that asks it.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Host } from "../testing/index.js";

export const ECHO = fileURLToPath(new URL("./plugins/echo.ts", import.meta.url));

/** The plugin's line for a text. Checks it against `expect` if there is one. */
export async function check(text, expect = null) {
  const host = await Host.start(ECHO);
  host.keys.push(text);
  host.reconcile();
  const line = host.lines.at(-1).replace(/^info /, "");
  if (expect !== null) assert.equal(line, expect, text);
  return line;
}
