// What a host knows in a test: the cache, the state, the queue, the log. A plugin may call it as `functions` says; what is thrown is the contract's error.

export const encode = (value) => new TextEncoder().encode(JSON.stringify(value));
const parsed = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** namespace/name, or the name alone. */
export const keyOf = ({ namespace, name }) => (namespace ? `${namespace}/${name}` : name);

/** All that a JSON pointer leads to; `*` steps into every member. */
function at(object, pointer) {
  let found = [object];
  for (const step of pointer.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    found = found.flatMap((value) => {
      if (value === null || typeof value !== "object") return [];
      if (name === "*" && !Object.hasOwn(value, "*")) return Object.values(value);
      return Object.hasOwn(value, name) ? [value[name]] : [];
    });
  }
  return found;
}

/** The JSON of it; null where nothing is. */
function field(object, pointer) {
  const [value] = object == null ? [] : at(object, pointer);
  return value === undefined ? null : JSON.stringify(value);
}

const ungranted = (what) => () => {
  throw { tag: "not-granted", val: `the test answers no ${what}` };
};

export class World {
  objects = new Map();
  indexes = new Map();
  values = new Map();
  series = new Map();
  keys = [];
  lines = [];
  writes = [];
  requests = [];
  event = { new: null, old: null };
  /** How many items a page has: few, so that a test turns pages. */
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

  /** Each object with the texts that an index files it under. */
  indexed(resource, index) {
    const pointer = this.indexes.get(`${resource} ${index}`);
    if (pointer === undefined) throw { tag: "unknown-index", val: index };
    const texts = (object) => at(object, pointer).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
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

  /** One page from a cursor on, which is a place. */
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

  /** A key that waits is not added again. */
  add(key) {
    if (!this.keys.includes(key)) this.keys.push(key);
  }
}

const same = (one, other) => (one === null || other === null ? one === other : Buffer.compare(one, other) === 0);

/** What a plugin may call, by the contract's names. */
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
  // In a test nothing waits: what is added is there.
  workqueue: {
    add: (key) => world.add(key),
    "add-after": (key) => world.add(key),
    "add-rate-limited": (key) => world.add(key),
    forget: () => {},
    "num-requeues": () => 0,
    len: () => world.keys.length,
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
    get: (key) => world.values.get(key) ?? null,
    set: (key, value) => void (value === null ? world.values.delete(key) : world.values.set(key, value)),
    "compare-and-set": (key, expected, value) => {
      if (!same(world.values.get(key) ?? null, expected)) return false;
      if (value === null) world.values.delete(key);
      else world.values.set(key, value);
      return true;
    },
    keys: (prefix) => [...world.values.keys()].filter((key) => key.startsWith(prefix)).sort(),
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
