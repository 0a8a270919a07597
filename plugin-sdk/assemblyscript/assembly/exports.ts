// The functions that the host calls, and the conversion of the plugin's answers. The build compiles this file as the
// plugin's first, with the plugin's own file as "informant:plugin". It keeps the functions that the plugin's file
// exports, and gives each export its name in the contract: lifecycle_describe is
// informant:plugin/lifecycle@0.1.0#describe.

import { Config, Descriptor, Event, Failure, Json, Reconciled, log } from "informant-plugin-assemblyscript";
import { release } from "informant-plugin-assemblyscript/assembly/abi/memory";
import { answer, bytes, put, text } from "informant-plugin-assemblyscript/assembly/abi/write";
import { bytesAt, textAt } from "informant-plugin-assemblyscript/assembly/abi/read";
import { endEvent } from "informant-plugin-assemblyscript/assembly/event";
import * as plugin from "informant:plugin";

export { cabi_realloc, cabi_realloc_adapter } from "informant-plugin-assemblyscript/assembly/abi/memory";

/** Frees the memory of a call after the host has read its answer. */
export function cabi_post(answer: usize): void {
  endEvent();
  release(0);
}

/** An answer with an error that is one text. */
function refused(message: string): usize {
  const place = answer(true);
  put(place + 4, text(message));
  return place;
}

/** An answer without a value, or with a failure. */
function told(failure: Failure | null): usize {
  if (failure === null) return answer(false);
  const place = answer(true);
  put(place + 8, text(failure.message));
  store<u8>(place, failure.retry, 16);
  store<u64>(place, failure.ms, 24);
  return place;
}

/** The same if the contract has no retry. */
function begun(failure: Failure | null): usize {
  return failure === null ? answer(false) : refused(failure.message);
}

/**
 * The host's configuration. No bytes mean an empty object. Null if it is not an object; then the log has the reason.
 */
function configuration(at: usize, length: usize): Config | null {
  if (length == 0) return new Config(Json.object());
  const read = Json.parseAt(at, length);
  if (read.ok && read.value.isObject) return new Config(read.value);
  const problem = read.problem;
  log.error("the configuration is no object", [["problem", problem === null ? "it is another value" : problem.toString()]]);
  return null;
}

const NO_CONFIGURATION = "the plugin's configuration is no JSON object: write its keys below config";

export function lifecycle_describe(at: usize, length: usize): usize {
  const config = configuration(at, length);
  if (config === null) return refused(NO_CONFIGURATION);
  const descriptor: Descriptor = plugin.describe(config); // describe(config: Config): Descriptor
  if (descriptor.problem != "") return refused(descriptor.problem);
  const place = answer(false);
  put(place + 4, text(descriptor.json.toString()));
  return place;
}

export function lifecycle_start(at: usize, length: usize): usize {
  if (isDefined(plugin.start)) {
    const config = configuration(at, length);
    if (config === null) return refused(NO_CONFIGURATION);
    const failure: Failure | null = plugin.start(config); // start(config: Config): Failure | null
    return begun(failure);
  }
  return answer(false);
}

export function lifecycle_stop(): void {
  if (isDefined(plugin.stop)) plugin.stop(); // stop(): void
  release(0);
}

export function handler_handle(event: usize): usize {
  if (isDefined(plugin.handle)) {
    const failure: Failure | null = plugin.handle(new Event(event)); // handle(event: Event): Failure | null
    return told(failure);
  }
  return answer(false);
}

export function sync_aware_synced(subscription: u32): usize {
  if (isDefined(plugin.synced)) {
    const failure: Failure | null = plugin.synced(subscription); // synced(subscription: u32): Failure | null
    return told(failure);
  }
  return answer(false);
}

export function reconciler_reconcile(key: usize, length: usize, attempt: u32): usize {
  if (isDefined(plugin.reconcile)) {
    const reconciled: Reconciled = plugin.reconcile(textAt(key, length), attempt); // reconcile(key: string, attempt: u32): Reconciled
    if (reconciled.failure !== null) return told(reconciled.failure);
    const place = answer(false);
    if (reconciled.ms >= 0) {
      store<u8>(place, 1, 8);
      store<u64>(place, reconciled.ms, 16);
    }
    return place;
  }
  return answer(false);
}

export function timer_fire(schedule: usize, length: usize, unixMs: u64): usize {
  if (isDefined(plugin.fire)) {
    const failure: Failure | null = plugin.fire(textAt(schedule, length), unixMs); // fire(schedule: string, unixMs: i64): Failure | null
    return told(failure);
  }
  return answer(false);
}

export function stateful_snapshot(): usize {
  const place = answer(false);
  if (isDefined(plugin.snapshot)) {
    const known: Uint8Array | null = plugin.snapshot(); // snapshot(): Uint8Array | null
    if (known !== null) {
      store<u8>(place, 1, 4);
      put(place + 8, bytes(known));
    }
  }
  return place;
}

export function stateful_restore(from: usize, fromLength: usize, data: usize, dataLength: usize): usize {
  if (isDefined(plugin.restore)) {
    const version = textAt(from, fromLength);
    const failure: Failure | null = plugin.restore(version, bytesAt(data, dataLength)); // restore(from: string, data: Uint8Array): Failure | null
    return begun(failure);
  }
  return answer(false);
}
