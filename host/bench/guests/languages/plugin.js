// Says each pod's phase.

import { log, plugin } from "informant-plugin";

export const { lifecycle, handler } = plugin({
  describe: { version: "0.1.0", subscriptions: [{ resource: "v1/pods" }] },
  handle(event) {
    log.info(`hello: pod ${event.key} is ${event.object.status.phase}`);
  },
});
