// The host's data in a test: the cache, the state, the queue, the log. `functions` are the functions that a plugin may
// call; their exceptions are the contract's errors.

// Of the SDK for JavaScript, and copied here with each use of this one.
import { Keys } from "./keys.js";
import { State, unfit } from "./state.js";

export const encode = (value) => new TextEncoder().encode(JSON.stringify(value));
const parsed = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** namespace/name, or the name alone. */
export const keyOf = ({ namespace, name }) => (namespace ? `${namespace}/${name}` : name);

/** All values at a JSON pointer. With `every`, as in an index, `*` steps into every member. */
function at(object, pointer, every = false) {
  let found = [object];
  for (const step of pointer.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    found = found.flatMap((value) => {
      if (value === null || typeof value !== "object") return [];
      if (every && name === "*") return Object.values(value);
      return Object.hasOwn(value, name) ? [value[name]] : [];
    });
  }
  return found;
}

/** The JSON of the value at a pointer, or null. */
function field(object, pointer) {
  const [value] = object == null ? [] : at(object, pointer);
  return value === undefined ? null : JSON.stringify(value);
}

const ungranted = (what) => () => {
  throw { tag: "not-granted", val: `the test answers no ${what}` };
};

/** Calls that may change the queue. */
const WORK = ["handle", "reconcile", "fire", "synced"];

/** Whether a subscription to the object has the change: by its `types`, and by `onlyIfChanged`. */
export function isWanted({ types = [], onlyIfChanged = [] }, change, object, old) {
  if (types.length > 0 && !types.includes(change)) return false;
  return change !== "updated" || onlyIfChanged.length === 0 || onlyIfChanged.some((pointer) => field(object, pointer) !== field(old, pointer));
}

/** The keys that `enqueue` rules make of one state of an object. */
export function keysOf(rules, object) {
  const { namespace: own = "", name, ownerReferences = [] } = object.metadata;
  const texts = (pointer) => at(object, pointer).slice(0, 1).filter((value) => typeof value === "string" && value !== "");
  return rules.flatMap((rule) => {
    const { owner, pointer, namespace = "object", prefix = "" } = rule === "self" ? {} : rule;
    const [of] = namespace === "object" ? [own] : namespace === "none" ? [""] : texts(namespace);
    if (of === undefined) return [];
    const [, group = "", kind] = owner?.match(/^(?:([^/]+)\/)?[^/]+\/([^/]+)$/) ?? [];
    const isOwner = (one) => one.kind === kind && (one.apiVersion.includes("/") ? one.apiVersion.split("/")[0] : "") === group;
    const names = owner ? ownerReferences.filter(isOwner).map((one) => one.name) : pointer ? texts(pointer) : [name];
    return names.map((one) => prefix + keyOf({ namespace: of, name: one }));
  });
}

export class World {
  objects = new Map();
  indexes = new Map();
  state = new State();
  series = new Map();
  keys = new Keys();
  /** The time of the plugin's clock, in milliseconds. */
  now = 1_700_000_000_000;
  /** The reason why the present call has failed, whatever it returns. Null if it has not. */
  unqueued = null;
  #call = null;
  lines = [];
  writes = [];
  requests = [];
  event = { new: null, old: null };
  /** The number of items on a page: few, so that a test needs several pages. */
  pageSize = 2;
  answerWrite = ungranted("writes");
  answerRequest = ungranted("requests");

  of(resource) {
    if (!this.objects.has(resource)) this.objects.set(resource, new Map());
    return this.objects.get(resource);
  }

  /** In the order of their keys. */
  sorted(resource) {
    return [...this.of(resource)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  /** Each object with the texts that an index has for it. */
  indexed(resource, index) {
    const pointer = this.indexes.get(`${resource} ${index}`);
    if (pointer === undefined) throw { tag: "unknown-index", val: index };
    const texts = (object) => at(object, pointer, true).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
    return this.sorted(resource).map((object) => [texts(object), object]);
  }

  under(resource, index, value) {
    return this.indexed(resource, index).filter(([texts]) => texts.includes(value)).map(([, object]) => object);
  }

  selected(resource, namespace, labels) {
    const wanted = labels.split(",").filter(Boolean).map((part) => part.split(/==?/).map((word) => word.trim()));
    if (wanted.some((part) => part.length !== 2)) throw { tag: "invalid", val: `tests know selectors of the form a=b,c=d, not ${labels}` };
    const is = ({ metadata }) =>
      (namespace === null || (metadata.namespace ?? "") === namespace) && wanted.every(([name, value]) => metadata.labels?.[name] === value);
    return this.sorted(resource).filter(is);
  }

  /** One page from a cursor on. The cursor is an index. */
  page(all, limit, cursor) {
    const from = Number(cursor ?? 0);
    const end = from + (limit === 0 ? this.pageSize : limit);
    return [all.slice(from, end), end < all.length ? String(end) : null];
  }

  count(series, labels, value) {
    const name = `${series}{${labels.map(([label, of]) => `${label}=${of}`).join(",")}}`;
    this.series.set(name, value(this.series.get(name) ?? 0));
  }

  write(made) {
    this.writes.push(made);
    return this.answerWrite(made);
  }

  /** Begins a call. hasQueue says whether the plugin works on keys. */
  begin(function_, hasQueue) {
    this.#call = { function_, hasQueue };
    this.unqueued = null;
    this.state.begin(function_);
  }

  /** Keeps the writes to the state if the call has succeeded. Added keys and metrics always stay. */
  end(isKept) {
    this.#call = null;
    this.state.end(isKept);
  }

  /** The queue has no error to return: a call that is not allowed ends the instance. */
  queue(function_) {
    const { function_: call, hasQueue } = this.#call ?? {};
    const what = `workqueue.${function_}`;
    if (!hasQueue || call === "describe") throw new Error(`${what}: it is there for a plugin that exports reconciler, and not in describe`);
    const isRead = function_ === "len" || function_ === "num-requeues";
    if (!isRead && !WORK.includes(call)) throw new Error(`${what} in ${call}, where another version may be in charge`);
  }

  /** Adds a key of the plugin. A call that adds an invalid key fails, whatever it returns. */
  queued(function_, key, add) {
    this.queue(function_);
    const problem = unfit(key);
    if (problem === null) add();
    else this.unqueued ??= `workqueue.${function_}: ${problem}`;
  }

  /** Lets time pass, also for the plugin's clock. */
  wait(ms) {
    this.now += ms;
    this.keys.wait(ms);
  }
}

/** The functions that a plugin may call, by the contract's names. */
export const functions = (world) => ({
  "event-data": {
    json: (side) => (world.event[side] === null ? null : encode(world.event[side])),
    fields: (side, pointers) => pointers.map((pointer) => field(world.event[side], pointer)),
    changed: (pointer) => field(world.event.new, pointer) !== field(world.event.old, pointer),
  },
  indexer: {
    get: (resource, key) => (world.of(resource).has(keyOf(key)) ? encode(world.of(resource).get(keyOf(key))) : null),
    fields: (resource, key, pointers) => {
      const object = world.of(resource).get(keyOf(key));
      return object === undefined ? null : pointers.map((pointer) => field(object, pointer));
    },
    list: (resource, namespace, labels, limit, cursor) => world.page(world.selected(resource, namespace, labels).map(encode), limit, cursor),
    "by-index": (resource, index, value, limit, cursor) => world.page(world.under(resource, index, value).map(encode), limit, cursor),
    "index-keys": (resource, index, value, limit, cursor) => {
      const keys = world.under(resource, index, value).map(({ metadata: { namespace = "", name } }) => ({ namespace, name }));
      return world.page(keys, limit, cursor);
    },
    "index-values": (resource, index, limit, cursor) =>
      world.page([...new Set(world.indexed(resource, index).flatMap(([texts]) => texts))].sort(), limit, cursor),
    count: (resource, namespace) => world.selected(resource, namespace, "").length,
    "has-synced": () => true,
  },
  workqueue: {
    add: (key) => world.queued("add", key, () => world.keys.add(key)),
    "add-after": (key, ms) => world.queued("add-after", key, () => world.keys.addAfter(key, ms)),
    "add-rate-limited": (key) => world.queued("add-rate-limited", key, () => world.keys.addRateLimited(key)),
    forget: (key) => (world.queue("forget"), world.keys.forget(key)),
    "num-requeues": (key) => (world.queue("num-requeues"), world.keys.numRequeues(key)),
    len: () => (world.queue("len"), world.keys.due.length),
  },
  log: {
    enabled: () => true,
    log: (level, message, fields) => world.lines.push([level, message, ...fields.map(([name, value]) => `${name}=${value}`)].join(" ")),
  },
  metrics: {
    "counter-add": (name, labels, value) => world.count(name, labels, (before) => before + value),
    "gauge-set": (name, labels, value) => world.count(name, labels, () => value),
    "histogram-observe": (name, labels, value) => world.count(name, labels, (before) => before + value),
  },
  state: {
    get: (key) => world.state.get(key),
    set: (key, value) => world.state.set(key, value),
    "compare-and-set": (key, expected, value) => world.state.compareAndSet(key, expected, value),
    keys: (prefix) => world.state.keys(prefix),
  },
  kube: {
    create: (resource, key, subresource, body) => encode(world.write({ verb: "create", resource, key, subresource, body: parsed(body) })),
    update: (resource, key, subresource, body) => encode(world.write({ verb: "update", resource, key, subresource, body: parsed(body) })),
    patch: (resource, key, subresource, type, body) => encode(world.write({ verb: "patch", resource, key, subresource, type, body: parsed(body) })),
    delete: (resource, key, uid) => void world.write({ verb: "delete", resource, key, uid }),
    "record-event": (resource, key, warning, reason, message) => void world.write({ verb: "event", resource, key, warning, reason, message }),
  },
  http: {
    send: (request) => {
      world.requests.push(request);
      return { headers: [], body: new Uint8Array(), ...world.answerRequest(request) };
    },
  },
  "host-info": { "is-leader": () => true, "plugin-name": () => "test", shard: () => [0, 1], "host-version": () => "0.1.0" },
});
