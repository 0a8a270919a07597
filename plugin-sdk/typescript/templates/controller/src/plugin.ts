// Warns of Deployments with unavailable replicas, again every 30 s.

import { indexer, log, plugin, type KubernetesObject } from "informant-plugin";

const DEPLOYMENTS = "apps/v1/deployments";

interface Deployment extends KubernetesObject {
  spec: { replicas: number };
  status?: { availableReplicas?: number };
}

export const { lifecycle, reconciler } = plugin({
  // The host makes a key of every change: the namespace and name of the Deployment.
  describe: { version: "0.1.0", subscriptions: [{ resource: DEPLOYMENTS, enqueue: ["self"] }] },
  reconcile(key: string) {
    const found = indexer.get<Deployment>(DEPLOYMENTS, key);
    if (found === null) return null; // it is deleted
    const wanted = found.spec.replicas;
    const available = found.status?.availableReplicas ?? 0;
    if (available >= wanted) return null;
    log.warn("replicas are unavailable", { deployment: key, available: `${available} of ${wanted}` });
    return 30_000; // the milliseconds until the next call for this key
  },
});
