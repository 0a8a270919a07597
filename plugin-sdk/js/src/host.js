// The host's functions with JavaScript's values: objects are parsed, pages become iterators, and refusals become
// HostErrors.

import * as eventDataOfHost from "informant:plugin/event-data@0.1.0";
import * as infoOfHost from "informant:plugin/host-info@0.1.0";
import * as httpOfHost from "informant:plugin/http@0.1.0";
import * as indexerOfHost from "informant:plugin/indexer@0.1.0";
import * as kubeOfHost from "informant:plugin/kube@0.1.0";
import * as metricsOfHost from "informant:plugin/metrics@0.1.0";
import * as stateOfHost from "informant:plugin/state@0.1.0";
import * as workqueueOfHost from "informant:plugin/workqueue@0.1.0";
import { HostError, milliseconds } from "./failure.js";
import { decode, encode } from "./utf8.js";

/** Returns the answer of f, and converts its exception to a HostError. Some runtimes wrap the exception. */
function asked(what, f) {
  try {
    return f();
  } catch (refused) {
    throw new HostError(what, refused?.payload ?? refused);
  }
}

const object = (bytes) => (bytes == null ? null : JSON.parse(decode(bytes)));
const value = (json) => (json == null ? null : JSON.parse(json));
const body = (of) => (of instanceof Uint8Array ? of : encode(typeof of === "string" ? of : JSON.stringify(of)));
const stored = (of) => (of == null ? null : encode(JSON.stringify(of)));
const keyOf = (of) => {
  if (typeof of !== "string") return { namespace: of.namespace ?? "", name: of.name };
  const [namespace, name] = of.includes("/") ? of.split("/", 2) : ["", of];
  return { namespace, name };
};

/** The present event, for subscriptions with lazy delivery. A side is new or old. */
export const eventData = {
  object: (side = "new") => object(eventDataOfHost.json(side)),
  fields: (pointers, side = "new") => eventDataOfHost.fields(side, pointers).map(value),
  field: (pointer, side = "new") => value(eventDataOfHost.fields(side, [pointer])[0]),
  changed: (pointer) => eventDataOfHost.changed(pointer),
};

/** The items of all pages. */
function* pages(what, page, items) {
  for (let cursor = null; ; ) {
    const found = asked(what, () => page(cursor));
    yield* items(found);
    cursor = found.next ?? null;
    if (cursor === null) return;
  }
}

/** The shared cache. Keys are namespace/name, or objects with both. */
export const indexer = {
  get: (resource, key) => object(asked("indexer", () => indexerOfHost.get(resource, keyOf(key)))),
  fields: (resource, key, pointers) => {
    const found = asked("indexer", () => indexerOfHost.fields(resource, keyOf(key), pointers));
    return found == null ? null : found.map(value);
  },
  list: (resource, { namespace = null, labels = "" } = {}) =>
    pages("indexer", (cursor) => indexerOfHost.list(resource, namespace, labels, 0, cursor), (page) => page.items.map(object)),
  byIndex: (resource, index, of) =>
    pages("indexer", (cursor) => indexerOfHost.byIndex(resource, index, of, 0, cursor), (page) => page.items.map(object)),
  indexKeys: (resource, index, of) =>
    pages("indexer", (cursor) => indexerOfHost.indexKeys(resource, index, of, 0, cursor), (page) => page.keys),
  indexValues: (resource, index) =>
    pages("indexer", (cursor) => indexerOfHost.indexValues(resource, index, 0, cursor), (page) => page.values),
  count: (resource, namespace = null) => Number(asked("indexer", () => indexerOfHost.count(resource, namespace))),
  hasSynced: (resource) => asked("indexer", () => indexerOfHost.hasSynced(resource)),
};

/** A small store of JSON values under names. */
export const state = {
  get: (key) => object(asked("state", () => stateOfHost.get(key))),
  set: (key, of) => void asked("state", () => stateOfHost.set(key, stored(of))),
  /** Sets the value if the present value is the expected one; null means no value. Returns whether it was. */
  compareAndSet: (key, expected, of) => asked("state", () => stateOfHost.compareAndSet(key, stored(expected), stored(of))),
  keys: (prefix = "") => asked("state", () => stateOfHost.keys(prefix)),
};

/** Writes to the cluster, if they are granted. A body is an object, or JSON. */
export const kube = {
  create: (resource, key, of, subresource = "") =>
    object(asked("kube", () => kubeOfHost.create(resource, keyOf(key), subresource, body(of)))),
  update: (resource, key, of, subresource = "") =>
    object(asked("kube", () => kubeOfHost.update(resource, keyOf(key), subresource, body(of)))),
  /** `kind` is json-patch, merge, strategic, apply or force-apply. */
  patch: (resource, key, of, kind = "merge", subresource = "") => {
    const type = kind.endsWith("apply") ? { tag: "apply", val: kind === "force-apply" } : { tag: kind };
    return object(asked("kube", () => kubeOfHost.patch(resource, keyOf(key), subresource, type, body(of))));
  },
  delete: (resource, key, uid = null) => void asked("kube", () => kubeOfHost.delete(resource, keyOf(key), uid)),
  recordEvent: (resource, key, reason, message, { warning = false } = {}) =>
    void asked("kube", () => kubeOfHost.recordEvent(resource, keyOf(key), warning, reason, message)),
};

/** Headers by name. Several values of one name are joined by a comma. */
function joined(fields) {
  const headers = new Map();
  for (const [name, of] of fields) headers.set(name, headers.has(name) ? `${headers.get(name)}, ${of}` : of);
  return Object.fromEntries(headers);
}

/** HTTP requests, if they are granted. */
export const http = {
  send: ({ method = "GET", url, headers = {}, body: of = "", timeoutMs = 0 }) => {
    const request = { method, url, headers: Object.entries(headers), body: body(of), timeoutMs };
    const { status, headers: fields, body: bytes } = asked("http", () => httpOfHost.send(request));
    return { status, headers: joined(fields), body: bytes, text: () => decode(bytes), json: () => object(bytes) };
  },
};

/** The plugin's queue of keys. */
export const workqueue = {
  add: (key) => workqueueOfHost.add(key),
  addAfter: (key, ms) => workqueueOfHost.addAfter(key, milliseconds("addAfter", ms)),
  addRateLimited: (key) => workqueueOfHost.addRateLimited(key),
  forget: (key) => workqueueOfHost.forget(key),
  numRequeues: (key) => workqueueOfHost.numRequeues(key),
  len: () => workqueueOfHost.len(),
};

/** The plugin's series. */
export const metrics = {
  counterAdd: (name, labels = {}, by = 1) => void asked("metrics", () => metricsOfHost.counterAdd(name, Object.entries(labels), by)),
  gaugeSet: (name, labels, to) => void asked("metrics", () => metricsOfHost.gaugeSet(name, Object.entries(labels), to)),
  histogramObserve: (name, labels, of) =>
    void asked("metrics", () => metricsOfHost.histogramObserve(name, Object.entries(labels), of)),
};

/** Facts about the host and this instance. */
export const hostInfo = {
  isLeader: () => infoOfHost.isLeader(),
  pluginName: () => infoOfHost.pluginName(),
  hostVersion: () => infoOfHost.hostVersion(),
  /** This instance's number, from 0, and the number of instances. */
  shard: () => {
    const [number, count] = infoOfHost.shard();
    return { number, count };
  },
};
