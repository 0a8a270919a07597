import assert from "node:assert/strict";
import test from "node:test";
import { Host } from "informant-plugin-assemblyscript/testing";

test("pending pods are counted", async () => {
  const host = await Host.start("assembly/index.ts");
  for (const [name, phase] of [["a", "Pending"], ["b", "Running"], ["c", "Pending"]]) {
    host.put("v1/pods", { metadata: { namespace: "shop", name }, status: { phase } });
  }
  assert.equal(host.fire("minute"), null);
  assert.deepEqual(host.lines, ["info pending pods count=2"]);
});
