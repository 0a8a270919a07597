// A host for tests in Node.js, without WebAssembly.

import type { Descriptor, Exports, Failure, Json, Method, PatchKind } from "../src/index.js";

/** A plugin file with at least its `lifecycle`. */
export type PluginFile = Pick<Exports, "lifecycle"> & Partial<Exports>;

/** An object of a test. */
export interface TestObject {
  metadata?: { name?: string; namespace?: string; uid?: string };
  [field: string]: unknown;
}

interface Place {
  resource: string;
  key: { namespace: string; name: string };
}

/** A write of the plugin. */
export type TestWrite = Place &
  (
    | { verb: "create" | "update"; subresource: string; body: Json }
    | {
        verb: "patch";
        subresource: string;
        type: { tag: Exclude<PatchKind, "apply" | "force-apply"> } | { tag: "apply"; val: boolean };
        body: Json;
      }
    | { verb: "delete"; uid: string | null }
    | { verb: "event"; warning: boolean; reason: string; message: string }
  );

/** An HTTP request of the plugin. */
export interface TestRequest {
  method: Method;
  url: string;
  headers: [name: string, value: string][];
  body: Uint8Array;
  timeoutMs: number;
}

/** An answer to a request. */
export interface TestAnswer {
  status: number;
  headers?: [name: string, value: string][];
  body?: Uint8Array;
}

/** A host with one plugin: the exports of its file. */
export class Host {
  /**
   * Describes and starts the plugin. With `before`, it is a reload of the previous host: the cache, the state, the keys,
   * the metrics and the log continue.
   */
  constructor(plugin: PluginFile, config?: object, before?: Host | null);

  readonly descriptor: Descriptor;
  /** The logged lines: the level, the message, the fields. */
  get lines(): string[];
  get writes(): TestWrite[];
  get requests(): TestRequest[];
  /** The keys that are due. */
  get keys(): string[];
  /** The milliseconds until each delayed key is due. */
  get delayed(): { [key: string]: number };
  /** The values of series, by their names with labels: `pods_total{app=web}`. */
  get series(): Map<string, number>;
  /** The number of this instance, and of all: `hostInfo.shard`. One of one by default. */
  set shard(shard: [number: number, count: number]);
  /** The object that answers a write. A thrown `{ tag, val }` is a refusal. */
  set answerWrite(answer: (write: TestWrite) => unknown);
  /** The answer to a request. A thrown `{ tag, val }` is a refusal. */
  set answerRequest(answer: (request: TestRequest) => TestAnswer);

  /** Puts an object into the cache without an event. */
  put(resource: string, object: TestObject): void;
  /**
   * Delivers an added object to the plugin. Returns the failure, or null. If the subscription has `enqueue` rules, the
   * keys of the object wait in `keys` instead, as in a host. Of the subscription's conditions `types` and `onlyIfChanged`
   * count. `namespaces`, the selectors and `filter` do not: the object is in the view, and passes the filter.
   */
  add(resource: string, object: TestObject): Failure | null;
  update(resource: string, before: TestObject, after: TestObject): Failure | null;
  delete(resource: string, object: TestObject): Failure | null;
  /**
   * Works on every key that is due, in turn. Returns the milliseconds after which keys come again, by their names. Throws
   * the first failure; its key comes again as the failure says.
   */
  reconcile(): { [key: string]: number };
  /**
   * Lets this number of milliseconds pass: `Date` moves, and the delayed keys that are due by then wait in `keys`, in the
   * order of their times. Time passes for no schedule: call `fire`.
   */
  wait(ms: number): void;
  /** Calls `fire`. Returns the failure, or null. */
  fire(schedule: string, at?: Date): Failure | null;
  /** Calls `synced`: the initial objects of a resource were delivered. Returns the failure, or null. */
  synced(resource: string): Failure | null;
}
