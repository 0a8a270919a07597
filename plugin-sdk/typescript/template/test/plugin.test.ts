import assert from "node:assert/strict";
import test from "node:test";
import { Host } from "informant-plugin/testing";
import * as plugin from "../src/plugin.ts";

test("every pod is greeted", () => {
  const host = new Host(plugin, { greeting: "good morning" });
  const pod = { metadata: { namespace: "default", name: "web" }, spec: { nodeName: "worker-1" } };
  assert.equal(host.add("v1/pods", pod), null);
  assert.equal(host.delete("v1/pods", pod), null);
  assert.deepEqual(host.lines, [
    "info good morning change=added pod=default/web node=worker-1",
    "info good morning change=deleted pod=default/web node=worker-1",
  ]);
});
