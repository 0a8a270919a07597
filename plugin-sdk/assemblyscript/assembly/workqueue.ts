// The plugin's own rate-limited queue of keys, for plugins that export reconcile. handle, reconcile, fire and synced
// may change it.

import { mark, release } from "./abi/memory";
import { text } from "./abi/write";

@external("informant:plugin/workqueue@0.1.0", "add")
declare function hostAdd(key: usize, length: usize): void;
@external("informant:plugin/workqueue@0.1.0", "add-after")
declare function hostAddAfter(key: usize, length: usize, ms: u64): void;
@external("informant:plugin/workqueue@0.1.0", "add-rate-limited")
declare function hostAddRateLimited(key: usize, length: usize): void;
@external("informant:plugin/workqueue@0.1.0", "forget")
declare function hostForget(key: usize, length: usize): void;
@external("informant:plugin/workqueue@0.1.0", "num-requeues")
declare function hostNumRequeues(key: usize, length: usize): u32;
@external("informant:plugin/workqueue@0.1.0", "len")
declare function hostLen(): u32;

/** The plugin's queue. Keys have 1 to 512 bytes. */
export namespace workqueue {
  /** Adds a key that is due at once. */
  export function add(key: string): void {
    const before = mark();
    const name = text(key);
    hostAdd(name.at, name.length);
    release(before);
  }
  /** Adds a key after this number of milliseconds. If a key has several times, the earliest counts. */
  export function addAfter(key: string, ms: i64): void {
    const before = mark();
    const name = text(key);
    hostAddAfter(name.at, name.length, max<i64>(ms, 0));
    release(before);
  }
  /** Adds a key after the rate limiter's wait for one more failure of the key. */
  export function addRateLimited(key: string): void {
    const before = mark();
    const name = text(key);
    hostAddRateLimited(name.at, name.length);
    release(before);
  }
  /** Resets the key's failures, which determine its waits. */
  export function forget(key: string): void {
    const before = mark();
    const name = text(key);
    hostForget(name.at, name.length);
    release(before);
  }
  /** The number of the key's failures and of its rate-limited additions since the last reset. */
  export function numRequeues(key: string): u32 {
    const before = mark();
    const name = text(key);
    const count = hostNumRequeues(name.at, name.length);
    release(before);
    return count;
  }
  /** The number of keys that are due. */
  export function len(): u32 {
    return hostLen();
  }
}
