// Informant plugins in JavaScript: converts a plugin's declarations to the contract's exports. The contract,
// plugin-sdk/wit, contains the host's guarantees.

import { failure, isAsking, milliseconds, text } from "./failure.js";
import { give } from "./given.js";
import { log } from "./log.js";
import { placed } from "./places.js";
import { seed } from "./random.js";
import { decode, encode } from "./utf8.js";

export { after, HostError, never } from "./failure.js";
export { eventData, http, hostInfo, indexer, kube, metrics, state, workqueue } from "./host.js";
export { log } from "./log.js";

/**
 * Calls f and converts its exception to the contract's failure, so that the instance continues. Logs the place of an
 * accident.
 */
function guarded(words, f) {
  return (...values) => {
    try {
      const answer = f(...values);
      if (typeof answer?.then === "function") {
        throw new TypeError("plugins are called synchronously: it returned a promise, and nobody waits for it");
      }
      return answer;
    } catch (reason) {
      if (reason instanceof Error && reason.stack && !isAsking(reason)) log.error(text(reason), { stack: placed(reason.stack) });
      throw words(reason);
    }
  };
}

/** The same for functions without a result. */
function told(words, f) {
  const call = guarded(words, f);
  return (...values) => void call(...values);
}

/** The host's configuration as an object. No bytes mean an empty object. */
function configuration(bytes) {
  const json = decode(bytes).trim();
  return json === "" ? {} : JSON.parse(json);
}

/** An event. Its objects are parsed on their first use. */
class Event {
  #object;
  #old;

  constructor(told) {
    this.seq = Number(told.seq);
    this.subscription = told.subscription;
    /** added, updated or deleted */
    this.change = told.change;
    /** initial, watch, relist, resync, reload or redrive */
    this.reason = told.reason;
    /** namespace/name, or the name alone */
    this.key = told.key.namespace === "" ? told.key.name : `${told.key.namespace}/${told.key.name}`;
    this.namespace = told.key.namespace;
    this.name = told.key.name;
    this.uid = told.uid;
    this.resourceVersion = told.resourceVersion;
    /** deleted, left-view or unknown; null if the object exists */
    this.gone = told.gone ?? null;
    this.coalesced = told.coalesced;
    this.attempt = told.attempt;
    this.#object = told.object ?? null;
    this.#old = told.old ?? null;
  }

  /** The new state, or the last state of a deleted object; null with lazy delivery. Parsed once, on its first use. */
  get object() {
    const bytes = this.#object ?? (this.change === "deleted" ? this.#old : null);
    return this.#read("object", bytes);
  }

  /** The previous state: for every deletion, and for other events if the subscription has withOld. */
  get old() {
    return this.#read("old", this.#old);
  }

  #read(name, bytes) {
    const value = bytes === null ? null : JSON.parse(decode(bytes));
    Object.defineProperty(this, name, { value });
    return value;
  }
}

/**
 * The exports of a plugin file. `describe` is the descriptor, or a function from the configuration to it; its keys are
 * those of plugin-sdk/descriptor.schema.json. `start`, `handle`, `stop`, `reconcile`, `fire`, `synced`, `snapshot` and
 * `restore` are optional.
 */
export function plugin(is) {
  give(is);
  const descriptor = (config) => (typeof is.describe === "function" ? is.describe(config) : is.describe);
  return {
    lifecycle: {
      describe: guarded(text, (config) => encode(JSON.stringify(descriptor(configuration(config))))),
      start: told(text, (config) => {
        seed();
        is.start?.(configuration(config));
      }),
      stop: () => {
        try {
          is.stop?.();
        } catch (reason) {
          log.error(`stop: ${text(reason)}`);
        }
      },
    },
    handler: { handle: told(failure, (event) => is.handle(new Event(event))) },
    reconciler: {
      reconcile: guarded(failure, (key, attempt) => {
        const again = is.reconcile(key, attempt);
        return again == null ? null : milliseconds("reconcile", again);
      }),
    },
    timer: { fire: told(failure, (schedule, at) => is.fire(schedule, new Date(Number(at)))) },
    syncAware: { synced: told(failure, (subscription) => is.synced?.(subscription)) },
    stateful: {
      snapshot: guarded(text, () => {
        const known = is.snapshot?.();
        return known == null ? null : encode(JSON.stringify(known));
      }),
      restore: told(text, (from, known) => is.restore(from, JSON.parse(decode(known)))),
    },
  };
}
