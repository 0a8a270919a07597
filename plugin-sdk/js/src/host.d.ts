// The host's functions. A refusal is a thrown `HostError`. The contract's reference has the promises of the host.
//
// A type argument, as in `indexer.get<Pod>(...)`, declares the type of an object. Nothing checks it at run time.

import type { Json, Key, KubernetesObject } from "./json.js";

/** A side of an event. An addition has no old state, and a deletion has no new one. */
export type Side = "new" | "old";

/** The present event, for subscriptions with lazy delivery. Valid only inside `handle`. */
export const eventData: {
  /** The whole object; null if that side has none. */
  object<T = KubernetesObject>(side?: Side): T | null;
  /** The value at each JSON pointer; null for a pointer without a value. */
  fields(pointers: readonly string[], side?: Side): Json[];
  /** The value at a JSON pointer; null without a value. */
  field<T = Json>(pointer: string, side?: Side): T | null;
  /** Whether the value at the JSON pointer differs between the sides; true if there is only one side. */
  changed(pointer: string): boolean;
};

/** The shared cache. A resource is `v1/pods` or `apps/v1/deployments`. */
export const indexer: {
  /** An object; null if it does not exist, or is outside the plugin's selectors. */
  get<T = KubernetesObject>(resource: string, key: Key): T | null;
  /** The value at each JSON pointer, null for a pointer without a value; null alone if `get` has no object. */
  fields(resource: string, key: Key, pointers: readonly string[]): Json[] | null;
  /** The objects of a namespace, or of all. `labels` is a selector as kubectl takes it. */
  list<T = KubernetesObject>(resource: string, of?: { namespace?: string | null; labels?: string }): Generator<T, void, undefined>;
  /** The objects that have this value in an index of the descriptor. */
  byIndex<T = KubernetesObject>(resource: string, index: string, value: string): Generator<T, void, undefined>;
  /** The keys of such objects. */
  indexKeys(resource: string, index: string, value: string): Generator<{ namespace: string; name: string }, void, undefined>;
  /** All values of an index. */
  indexValues(resource: string, index: string): Generator<string, void, undefined>;
  /** The number of objects that the plugin sees in a namespace, or in all. */
  count(resource: string, namespace?: string | null): number;
  /** Whether the first list is complete. Before that, an object that is absent here may exist. */
  hasSynced(resource: string): boolean;
};

/** A small store of JSON values under names. It survives reloads. */
export const state: {
  /** The value; null if there is none. */
  get<T = Json>(key: string): T | null;
  /** Sets the value. Null removes it. */
  set(key: string, value: unknown): void;
  /** Sets the value if the present value is the expected one; null means no value. Returns whether it was. */
  compareAndSet(key: string, expected: unknown, value: unknown): boolean;
  /** The names with this prefix, sorted. */
  keys(prefix?: string): string[];
};

/** The body of a write: an object, or its JSON. */
export type Body = object | string | Uint8Array;

export type PatchKind = "json-patch" | "merge" | "strategic" | "apply" | "force-apply";

/** Writes to the cluster, if they are granted. The answer is the object that the API server sent. */
export const kube: {
  create<T = KubernetesObject>(resource: string, key: Key, object: Body, subresource?: string): T;
  update<T = KubernetesObject>(resource: string, key: Key, object: Body, subresource?: string): T;
  /** Changes the fields that the patch names. The default kind is `merge`. */
  patch<T = KubernetesObject>(resource: string, key: Key, patch: Body, kind?: PatchKind, subresource?: string): T;
  /** Deletes an object. With a UID, only the object with that UID. */
  delete(resource: string, key: Key, uid?: string | null): void;
  /** Records an `events.k8s.io` Event about the object, without a wait for the write. */
  recordEvent(resource: string, key: Key, reason: string, message: string, options?: { warning?: boolean }): void;
};

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

export interface HttpRequest {
  /** The default is `GET`. */
  method?: Method;
  url: string;
  headers?: { [name: string]: string };
  /** Text and bytes go as they are, everything else as JSON. */
  body?: Body;
  /** 0, the default: as long as the call may wait. */
  timeoutMs?: number;
}

export interface HttpResponse {
  status: number;
  /** Names are in lower case. Several values of one name are joined by a comma. */
  headers: { [name: string]: string };
  body: Uint8Array;
  /** The body as text. */
  text(): string;
  /** The body as JSON. */
  json<T = Json>(): T;
}

/** HTTP requests, if they are granted. */
export const http: {
  /** Sends one request and waits for its answer. An answer with an error of the server, such as 500, is an answer. */
  send(request: HttpRequest): HttpResponse;
};

/** The plugin's rate-limited queue of keys. */
export const workqueue: {
  add(key: string): void;
  addAfter(key: string, ms: number): void;
  addRateLimited(key: string): void;
  /** The key's failures no longer count towards its waits. */
  forget(key: string): void;
  /** The number of the key's failures and of its rate-limited additions, since it was last forgotten. */
  numRequeues(key: string): number;
  /** The number of keys that are due. */
  len(): number;
};

export interface Labels {
  [name: string]: string;
}

/** The plugin's series on the host's `/metrics`. */
export const metrics: {
  /** Adds to a counter; 1 by default. */
  counterAdd(name: string, labels?: Labels, by?: number): void;
  gaugeSet(name: string, labels: Labels, to: number): void;
  histogramObserve(name: string, labels: Labels, value: number): void;
};

/** Facts about the host and this instance. */
export const hostInfo: {
  isLeader(): boolean;
  pluginName(): string;
  hostVersion(): string;
  /** This instance's number, from 0, and the number of instances. */
  shard(): { number: number; count: number };
};
