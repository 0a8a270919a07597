// Does with every pod what the pod's annotation asks for. The host's tests of this SDK use it.

import {
  Change, Config, Descriptor, Event, Failure, Key, Reconciled, Subscription, done, log, utf8, workqueue,
} from "informant-plugin-assemblyscript";
import { use } from "./use";

let isFired = false;

export function describe(config: Config): Descriptor {
  return new Descriptor("0.1.0")
    .subscribe(new Subscription("v1/pods").withOld())
    .index("v1/pods", "app", "/metadata/labels/app")
    .every("soon", "1s");
}

export function handle(event: Event): Failure | null {
  if (event.change != Change.Added) return null;
  const does = event.object.at("/metadata/annotations/does").asText();
  if (does == "fail") return Failure.never("asked to fail");
  if (does == "wait") return Failure.after("asked to wait", 50);
  if (does == "panic") throw new Error(`asked to panic by ${event.key.name}`);
  if (does == "overrun") log.info("overrun", [["item", overrun(event).toString()]]);
  if (does == "spin") while (true) {}
  if (does == "recurse") log.info("recursed", [["depth", recurse(event.key, 1).toString()]]);
  if (does == "hoard") hoard();
  if (does == "look") return look();
  if (does == "use") return use(event);
  log.info("well", [["pod", event.key.toString()]]);
  return null;
}

/** Reads beyond an array's end. */
function overrun(event: Event): i32 {
  const items = new Array<i32>(event.key.name.length);
  return items[items.length];
}

/** Never returns: the language's own stack bounds it. */
function recurse(key: Key, depth: i32): i32 {
  const next = new Key(key.namespace, key.name);
  return depth < 0 ? depth : recurse(next, depth + 1) + next.name.length;
}

/** Takes memory until there is none. */
function hoard(): void {
  const all: Uint8Array[] = [];
  while (true) all.push(new Uint8Array(1 << 20));
}

/** Reads the clock and random numbers. */
function look(): Failure | null {
  const isClock = Date.now() > 1_600_000_000_000;
  console.log("printed");
  log.info("looked", [["environment", "0"], ["clock", isClock.toString()], ["random", (Math.random() != Math.random()).toString()]]);
  return null;
}

export function reconcile(key: string, attempt: u32): Reconciled {
  log.info("reconciled", [["attempt", attempt.toString()], ["waiting", workqueue.len().toString()]]);
  return done();
}

export function fire(schedule: string, unixMs: i64): Failure | null {
  if (!isFired) log.info("fired", [["schedule", schedule], ["ago", (Date.now() - unixMs < 3_600_000).toString()]]);
  isFired = true;
  return null;
}

export function synced(subscription: u32): Failure | null {
  log.info("synced", [["subscription", subscription.toString()]]);
  return null;
}

export function snapshot(): Uint8Array | null {
  return utf8.encode("carried");
}

export function restore(from: string, data: Uint8Array): Failure | null {
  log.info("restored", [["from", from], ["data", utf8.decode(data)]]);
  return null;
}

export function stop(): void {
  log.info("stopped");
}
