// Warns of Deployments with unavailable replicas, again every 30 s.

import { Config, Descriptor, Enqueue, Failure, Key, Reconciled, Subscription, again, done, failed, indexer, log } from "informant-plugin-assemblyscript";

const DEPLOYMENTS = "apps/v1/deployments";

export function describe(config: Config): Descriptor {
  // The host makes a key of every change: the namespace and name of the Deployment.
  return new Descriptor("0.1.0").subscribe(new Subscription(DEPLOYMENTS).enqueue(Enqueue.self()));
}

export function start(config: Config): Failure | null {
  return config.failure();
}

export function reconcile(key: string, attempt: u32): Reconciled {
  const found = indexer.get(DEPLOYMENTS, Key.of(key));
  if (!found.ok) return failed(found.failure()!);
  if (found.value.isNothing) return done(); // it is deleted
  const wanted = found.value.at("/spec/replicas").asInteger();
  const available = found.value.at("/status/availableReplicas").asInteger();
  if (available >= wanted) return done();
  log.warn("replicas are unavailable", [["deployment", key], ["available", `${available} of ${wanted}`]]);
  return again(30_000);
}
