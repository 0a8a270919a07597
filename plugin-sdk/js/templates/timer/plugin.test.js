import assert from "node:assert/strict";
import test from "node:test";
import { Host } from "informant-plugin/testing";
import * as plugin from "./plugin.js";

test("pending pods are counted", () => {
  const host = new Host(plugin);
  for (const [name, phase] of [["a", "Pending"], ["b", "Running"], ["c", "Pending"]]) {
    host.put("v1/pods", { metadata: { namespace: "shop", name }, status: { phase } });
  }
  assert.equal(host.fire("minute"), null);
  assert.deepEqual(host.lines, ["info pending pods count=2"]);
});
