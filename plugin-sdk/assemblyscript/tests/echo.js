// The plugin that says what the SDK makes of a text, and the one way to ask it.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Host } from "../testing/index.js";

export const ECHO = fileURLToPath(new URL("./plugins/echo.ts", import.meta.url));

/** The line that the plugin answers to a text, held against this one if there is one. */
export async function check(text, expect = null) {
  const host = await Host.start(ECHO);
  host.keys.push(text);
  host.reconcile();
  const line = host.lines.at(-1).replace(/^info /, "");
  if (expect !== null) assert.equal(line, expect, text);
  return line;
}
