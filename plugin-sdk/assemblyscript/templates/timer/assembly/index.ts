// Counts the pending pods, every minute.

import { Config, Descriptor, Failure, indexer, log } from "informant-plugin-assemblyscript";

const PODS = "v1/pods";

export function describe(config: Config): Descriptor {
  return new Descriptor("0.1.0").read(PODS).every("minute", "1m");
}

export function start(config: Config): Failure | null {
  return config.failure();
}

export function fire(schedule: string, unixMs: i64): Failure | null {
  let count = 0;
  const pods = indexer.list(PODS);
  while (pods.next()) if (pods.item.at("/status/phase").asText() == "Pending") count++;
  if (!pods.ok) return pods.failure();
  log.info("pending pods", [["count", count.toString()]]);
  return null;
}
