import assert from "node:assert/strict";
import test from "node:test";
import { Host } from "informant-plugin/testing";
import * as plugin from "../src/plugin.ts";

const web = (availableReplicas: number) => ({ metadata: { namespace: "shop", name: "web" }, spec: { replicas: 3 }, status: { availableReplicas } });

test("unavailable replicas are warned of again", () => {
  const host = new Host(plugin);
  host.add("apps/v1/deployments", web(1));
  assert.deepEqual(host.reconcile(), { "shop/web": 30_000 });
  host.wait(30_000);
  assert.deepEqual(host.keys, ["shop/web"]);
  host.update("apps/v1/deployments", web(1), web(3));
  assert.deepEqual(host.reconcile(), {});
  host.delete("apps/v1/deployments", web(3));
  assert.deepEqual(host.reconcile(), {});
  assert.deepEqual(host.lines, ["warn replicas are unavailable deployment=shop/web available=1 of 3"]);
});
