import assert from "node:assert/strict";
import test from "node:test";
import { Host } from "informant-plugin-assemblyscript/testing";

test("every pod is greeted", async () => {
  const host = await Host.start("assembly/index.ts", { greeting: "good morning" });
  const pod = { metadata: { namespace: "default", name: "web" } };
  assert.equal(host.add("v1/pods", pod), null);
  assert.equal(host.delete("v1/pods", pod), null);
  assert.deepEqual(host.lines, [
    "info good morning change=added pod=default/web",
    "info good morning change=deleted pod=default/web",
  ]);
});

test("a configuration that does not fit is refused", async () => {
  await assert.rejects(Host.start("assembly/index.ts", { greting: "good morning" }), /there is no greting; known are: greeting/);
});
