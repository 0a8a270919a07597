// Says each pod's phase.

import { Config, Descriptor, Event, Failure, log, Subscription } from "informant-plugin-assemblyscript";

export function describe(config: Config): Descriptor {
  return new Descriptor("0.1.0").subscribe(new Subscription("v1/pods"));
}

export function handle(event: Event): Failure | null {
  log.info(`hello: pod ${event.key} is ${event.object.at("/status/phase").asText()}`);
  return null;
}
