// Greets every pod.

import { log, plugin } from "informant-plugin";

let greeting = "hello";

export const { lifecycle, handler } = plugin({
  describe: { version: "0.1.0", subscriptions: [{ resource: "v1/pods" }] },
  start(config) {
    greeting = config.greeting ?? greeting;
  },
  handle(event) {
    log.info(greeting, { change: event.change, pod: event.key });
  },
});
