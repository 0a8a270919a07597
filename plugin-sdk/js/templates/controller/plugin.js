// Warns of Deployments with unavailable replicas, again every 30 s.

import { indexer, log, plugin } from "informant-plugin";

const DEPLOYMENTS = "apps/v1/deployments";

export const { lifecycle, reconciler } = plugin({
  // The host makes a key of every change: the namespace and name of the Deployment.
  describe: { version: "0.1.0", subscriptions: [{ resource: DEPLOYMENTS, enqueue: ["self"] }] },
  reconcile(key) {
    const found = indexer.get(DEPLOYMENTS, key);
    if (found === null) return null; // it is deleted
    const wanted = found.spec.replicas;
    const available = found.status?.availableReplicas ?? 0;
    if (available >= wanted) return null;
    log.warn("replicas are unavailable", { deployment: key, available: `${available} of ${wanted}` });
    return 30_000; // the milliseconds until the next call for this key
  },
});
