// Writes to its state in every call, and works on the keys of pods.

import { Config, Descriptor, Enqueue, Failure, Reconciled, Subscription, done, failed, log, state, utf8, workqueue } from "informant-plugin-assemblyscript";

export function describe(config: Config): Descriptor {
  const read = state.getText("a").problem;
  return new Descriptor(read === null ? "readable" : read.toString())
    .subscribe(new Subscription("v1/pods").enqueue(Enqueue.self()).enqueue(Enqueue.self().namespace("none").prefix("node/")))
    .subscribe(new Subscription("v1/services").enqueue(Enqueue.owner("apps/v1/ReplicaSet")))
    .every("soon", "1s");
}

function keep(key: string, text: string): string {
  const problem = state.setText(key, text);
  return problem === null ? "kept" : problem.toString();
}

export function start(config: Config): Failure | null {
  if (config.bool("queue", false)) workqueue.add("early");
  const swapped = state.compareAndSet("a", null, utf8.encode("start"));
  log.info(`${keep("a", "start")} | ${swapped.ok ? "swapped" : swapped.problem!.toString()}`);
  return null;
}

export function synced(subscription: u32): Failure | null {
  log.info(keep("a", "synced"));
  return null;
}

export function fire(schedule: string, unixMs: i64): Failure | null {
  keep("fired", "yes");
  return Failure.never("fired in vain");
}

/** The key is an instruction: `add KEY`, or the result and the value to keep, `done KEY TEXT`. */
export function reconcile(key: string, attempt: u32): Reconciled {
  const words = key.split(" ");
  if (words[0] == "add") {
    workqueue.add(words[1]);
    return done();
  }
  if (words.length < 3) return done();
  const problem = keep(words[1], words[2]);
  const found = state.getText(words[1]).or(null);
  log.info(`${problem} ${found === null ? "none" : found}`);
  if (words[0] == "fail") return failed(Failure.backoff("asked to fail"));
  if (words[0] == "throw") throw new Error("asked to throw");
  return done();
}
