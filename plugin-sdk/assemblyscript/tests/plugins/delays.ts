// Delays its keys: the word of a key says how, and the number for how long.

import { Config, Descriptor, Enqueue, Failure, Reconciled, Subscription, again, done, failed, log, workqueue } from "informant-plugin-assemblyscript";

export function describe(config: Config): Descriptor {
  return new Descriptor("1").subscribe(new Subscription("v1/pods").enqueue(Enqueue.self()))
    .subscribe(new Subscription("v1/nodes").types(["updated", "deleted"]).onlyIfChanged(["/status/size"]).enqueue(Enqueue.self()));
}

export function reconcile(key: string, attempt: u32): Reconciled {
  log.info(`${key} ${attempt} ${Date.now()}`);
  const word = key.split(" ")[0];
  const ms = word == key ? 0 : I64.parseInt(key.split(" ")[1]);
  if (word == "again") return again(ms);
  if (word == "wait") return failed(Failure.after("busy", ms));
  if (word == "fail") return failed(Failure.backoff("broken"));
  if (word == "after") workqueue.addAfter(key, ms);
  if (word == "limited") workqueue.addRateLimited(key);
  return done();
}
