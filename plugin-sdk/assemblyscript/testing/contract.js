// The contract's functions with their types, as in plugin-sdk/wit.

import { bool, bytes, enumeration, f64, list, option, record, result, string, tuple, u16, u32, u64, variant } from "./abi.js";

const VERSION = "0.1.0";
const nothing = null;
export const interfaceName = (name) => `informant:plugin/${name}@${VERSION}`;

const key = record({ namespace: string, name: string });
const change = enumeration("added", "updated", "deleted");
const reason = enumeration("initial", "watch", "relist", "resync", "reload", "redrive");
const failure = record({ message: string, retry: variant({ backoff: nothing, "after-ms": u64, never: nothing }) });
const event = record({
  seq: u64, subscription: u32, change, reason, key, uid: string, resourceVersion: string, gone: option(enumeration("deleted", "left-view", "unknown")),
  coalesced: u32, attempt: u32, object: option(bytes), old: option(bytes),
});

/** The functions that the host calls: their parameters and results. */
export const EXPORTS = {
  lifecycle: { describe: [[bytes], result(bytes, string)], start: [[bytes], result(nothing, string)], stop: [[], nothing] },
  handler: { handle: [[event], result(nothing, failure)] },
  "sync-aware": { synced: [[u32], result(nothing, failure)] },
  reconciler: { reconcile: [[string, u32], result(option(u64), failure)] },
  timer: { fire: [[string, u64], result(nothing, failure)] },
  stateful: { snapshot: [[], result(option(bytes), string)], restore: [[string, bytes], result(nothing, string)] },
};

const side = enumeration("new", "old");
const level = enumeration("trace", "debug", "info", "warn", "error");
const pairs = list(tuple(string, string));
const refused = variant({
  "not-granted": string, "unknown-resource": string, "unknown-index": string, "not-synced": string, expired: nothing, invalid: string,
});
const page = (of) => result(tuple(list(of), option(string)), refused);
const status = record({ code: u16, reason: string, message: string, retryAfterMs: option(u64) });
const unwritten = variant({ "not-granted": string, "not-leader": nothing, invalid: string, status, transport: string });
const unsent = variant({
  "not-granted": string, "not-leader": nothing, invalid: string, "timed-out": string, "too-large": string, transport: string,
});
const patchType = variant({ "json-patch": nothing, merge: nothing, strategic: nothing, apply: bool });
const request = record({ method: string, url: string, headers: pairs, body: bytes, timeoutMs: u32 });
const response = record({ status: u16, headers: pairs, body: bytes });
const series = [[string, pairs, f64], result(nothing, string)];

/** The functions that a plugin may call. */
export const IMPORTS = {
  "event-data": {
    json: [[side], option(bytes)],
    fields: [[side, list(string)], list(option(string))],
    changed: [[string], bool],
  },
  indexer: {
    get: [[string, key], result(option(bytes), refused)],
    fields: [[string, key, list(string)], result(option(list(option(string))), refused)],
    list: [[string, option(string), string, u32, option(string)], page(bytes)],
    "by-index": [[string, string, string, u32, option(string)], page(bytes)],
    "index-keys": [[string, string, string, u32, option(string)], page(key)],
    "index-values": [[string, string, u32, option(string)], page(string)],
    count: [[string, option(string)], result(u64, refused)],
    "has-synced": [[string], result(bool, refused)],
  },
  workqueue: {
    add: [[string], nothing],
    "add-after": [[string, u64], nothing],
    "add-rate-limited": [[string], nothing],
    forget: [[string], nothing],
    "num-requeues": [[string], u32],
    len: [[], u32],
  },
  log: { enabled: [[level], bool], log: [[level, string, pairs], nothing] },
  metrics: { "counter-add": series, "gauge-set": series, "histogram-observe": series },
  state: {
    get: [[string], result(option(bytes), string)],
    set: [[string, option(bytes)], result(nothing, string)],
    "compare-and-set": [[string, option(bytes), option(bytes)], result(bool, string)],
    keys: [[string], result(list(string), string)],
  },
  kube: {
    create: [[string, key, string, bytes], result(bytes, unwritten)],
    update: [[string, key, string, bytes], result(bytes, unwritten)],
    patch: [[string, key, string, patchType, bytes], result(bytes, unwritten)],
    delete: [[string, key, option(string)], result(nothing, unwritten)],
    "record-event": [[string, key, bool, string, string], result(nothing, unwritten)],
  },
  http: { send: [[request], result(response, unsent)] },
  "host-info": {
    "is-leader": [[], bool],
    "plugin-name": [[], string],
    shard: [[], tuple(u32, u32)],
    "host-version": [[], string],
  },
};
