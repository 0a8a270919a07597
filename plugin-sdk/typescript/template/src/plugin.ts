// Greets every pod.

import { log, plugin, type Event, type KubernetesObject } from "informant-plugin";

interface Pod extends KubernetesObject {
  spec: { nodeName?: string };
}

let greeting = "hello";

export const { lifecycle, handler } = plugin({
  describe: { version: "0.1.0", subscriptions: [{ resource: "v1/pods" }] },
  start(config: { greeting?: string }) {
    greeting = config.greeting ?? greeting;
  },
  handle(event: Event<Pod>) {
    const node = event.object.spec.nodeName ?? "none";
    log.info(greeting, { change: event.change, pod: event.key, node });
  },
});
