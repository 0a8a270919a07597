// Informant plugins: the declarations of a plugin, and the contract's exports that they become.

import type { Descriptor } from "./descriptor.js";
import type { JsonObject, KubernetesObject } from "./json.js";

export type * from "./descriptor.js";
export * from "./failure.js";
export * from "./host.js";
export type * from "./json.js";
export { log } from "./log.js";
export type { LogFunction } from "./log.js";

/** The change of the object, as the subscription sees it. */
export type Change = "added" | "updated" | "deleted";

/** The reason for the delivery of an event now. */
export type Reason = "initial" | "watch" | "relist" | "resync" | "reload" | "redrive";

/** The reason why an object is not in the view any more. */
export type Gone = "deleted" | "left-view" | "unknown";

/**
 * A change of one object. `T` is the type of the object. It is declared, and not checked at run time. With
 * `delivery: "lazy"` there is no object, and the event is a `LazyEvent`.
 */
export interface Event<T = KubernetesObject> {
  /** Rises by one with every event of this plugin, or of this shard of it. A retry keeps its number. */
  readonly seq: number;
  /** The place in the descriptor's `subscriptions`. */
  readonly subscription: number;
  readonly change: Change;
  readonly reason: Reason;
  /** `namespace/name`, or the name alone. */
  readonly key: string;
  /** Empty for objects without a namespace. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Null if the object exists. */
  readonly gone: Gone | null;
  /** The number of older, undelivered events that are merged into this event. */
  readonly coalesced: number;
  /** 1 for the first delivery. */
  readonly attempt: number;
  /** The new state, or the last state of a deleted object. Decoded at the first use. */
  readonly object: T;
  /** The previous state: for every deletion, and for updates if the subscription has `withOld`. */
  readonly old: T | null;
}

/** An event of a subscription with `delivery: "lazy"`. `eventData` has its object. */
export type LazyEvent = Event<null>;

/** No result. A promise is none either: the host does not wait for promises. */
export type Nothing = void | undefined;

/** A value, or nothing. */
export type Maybe<T> = T | null | undefined | void;

/**
 * The functions of a plugin. All but `describe` are optional. `T` is the type of the events' objects, `C` of the
 * configuration, `S` of a snapshot; they follow from the types of the functions' parameters.
 */
export interface PluginFunctions<T = KubernetesObject, C = JsonObject, S = unknown> {
  /** The descriptor, or a function from the configuration to it. */
  describe: Descriptor | ((config: C) => Descriptor);
  /** Once for an instance, before any other call. An error keeps this version from running. */
  start?(config: C): Nothing;
  handle?(event: Event<T>): Nothing;
  /** The last call. It does not come after a trap or a deadline. */
  stop?(): Nothing;
  /** Reconciles one key. A number is success, and another call for the key after that many milliseconds. */
  reconcile?(key: string, attempt: number): Maybe<number>;
  /** A firing of a schedule. `at` is the time in the schedule for which the call comes. */
  fire?(schedule: string, at: Date): Nothing;
  /** All initial objects of this subscription were delivered. */
  synced?(subscription: number): Nothing;
  /** What the next version gets, as JSON; nothing to carry nothing over. */
  snapshot?(): Maybe<S>;
  restore?(fromVersion: string, known: S): Nothing;
}

/** The contract's exports. A plugin file exports those of its world: `export const { lifecycle, handler } = plugin(...)`. */
export interface Exports {
  readonly lifecycle: {
    describe(config: Uint8Array): Uint8Array;
    start(config: Uint8Array): void;
    stop(): void;
  };
  readonly handler: { handle(event: object): void };
  readonly reconciler: { reconcile(key: string, attempt: number): number | null };
  readonly timer: { fire(schedule: string, unixMs: bigint): void };
  readonly syncAware: { synced(subscription: number): void };
  readonly stateful: {
    snapshot(): Uint8Array | null;
    restore(fromVersion: string, known: Uint8Array): void;
  };
}

/** The exports of a plugin file. */
export function plugin<T = KubernetesObject, C = JsonObject, S = unknown>(is: PluginFunctions<T, C, S>): Exports;
