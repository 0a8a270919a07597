// Uses a queue that it does not have, because it works on no keys.

import { Config, Descriptor, Event, Failure, Subscription, workqueue } from "informant-plugin-assemblyscript";

export function describe(config: Config): Descriptor {
  return new Descriptor("1").subscribe(new Subscription("v1/pods"));
}

export function handle(event: Event): Failure | null {
  return Failure.never(workqueue.len().toString());
}
