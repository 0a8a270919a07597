// Counts the pending pods, every minute.

import { indexer, log, plugin } from "informant-plugin";

const PODS = "v1/pods";

export const { lifecycle, timer } = plugin({
  describe: { version: "0.1.0", reads: [{ resource: PODS }], schedules: [{ name: "minute", every: "1m" }] },
  fire(schedule, at) {
    let count = 0;
    for (const pod of indexer.list(PODS)) if (pod.status?.phase === "Pending") count++;
    log.info("pending pods", { count });
  },
});
