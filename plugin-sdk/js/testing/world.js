// The host's data in a test. There is one at a time.

import { Keys } from "./keys.js";

export const encode = (value) => new TextEncoder().encode(JSON.stringify(value));

export const keyOf = ({ namespace, name }) => (namespace ? `${namespace}/${name}` : name);

/** All values at a JSON pointer. With `every`, as in an index, `*` steps into every member. */
export function at(object, pointer, every = false) {
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

/** The JSON of the value at a pointer, or null. */
export const field = (object, pointer) => {
  const [value] = object == null ? [] : at(object, pointer);
  return value === undefined ? null : JSON.stringify(value);
};

export class World {
  objects = new Map();
  indexes = new Map();
  values = new Map();
  series = new Map();
  keys = new Keys();
  lines = [];
  writes = [];
  requests = [];
  shard = [0, 1];
  event = { new: null, old: null };
  answerWrite = () => {
    throw { tag: "not-granted", val: "the test answers no writes" };
  };
  answerRequest = () => {
    throw { tag: "not-granted", val: "the test answers no requests" };
  };

  of(resource) {
    if (!this.objects.has(resource)) this.objects.set(resource, new Map());
    return this.objects.get(resource);
  }

  /** In the order of their keys. */
  sorted(resource) {
    return [...this.of(resource)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  indexed(resource, index) {
    const pointer = this.indexes.get(`${resource} ${index}`);
    if (pointer === undefined) throw { tag: "unknown-index", val: index };
    const texts = (object) => at(object, pointer, true).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
    return this.sorted(resource).map((object) => [texts(object), object]);
  }
}

let now = new World();
export const use = (world) => void (now = world);
export const world = () => now;
