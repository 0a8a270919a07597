// Greets every pod.

import { Config, Descriptor, Event, Failure, log, Subscription } from "informant-plugin-assemblyscript";

let greeting = "hello";

export function describe(config: Config): Descriptor {
  return new Descriptor("0.1.0").subscribe(new Subscription("v1/pods"));
}

export function start(config: Config): Failure | null {
  greeting = config.text("greeting", greeting);
  return config.failure();
}

export function handle(event: Event): Failure | null {
  log.info(greeting, [["change", event.change], ["pod", event.key.toString()]]);
  return null;
}
