// Runs a plugin in an ordinary test of Node.js, as WebAssembly and without a host:
//   const host = await Host.start("assembly/index.ts", { greeting: "good morning" });

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { compile } from "../compile.js";
import { Instance } from "./instance.js";
import { encode, isWanted, keyOf, keysOf, World } from "./world.js";

const modules = new Map();

/** Compiles a plugin once in a process. The file is AssemblyScript, or a plugin file. */
function moduleOf(file) {
  const path = resolve(file);
  if (!modules.has(path)) {
    const bytes = path.endsWith(".wasm") ? readFile(path) : compile(path);
    modules.set(path, bytes.then((of) => new WebAssembly.Module(of)));
  }
  return modules.get(path);
}

/** A host with one plugin. Throws the errors that the plugin returns from describe, start or restore. */
export class Host {
  #instance;
  #world;
  #seq = 0;

  /**
   * Compiles a plugin and starts it. With `before`, it is a reload of the previous host: the cache, the state, the
   * keys, the metrics and the log continue.
   */
  static async start(file, config = {}, before = null) {
    return new Host(await moduleOf(file), config, before);
  }

  constructor(module, config, before) {
    this.#world = before === null ? new World() : before.#world;
    this.#instance = new Instance(module, this.#world);
    const describe = this.#plain("lifecycle", "describe", encode(config));
    this.descriptor = JSON.parse(new TextDecoder().decode(describe));
    for (const { resource, name, pointer } of this.descriptor.indexes ?? []) this.#world.indexes.set(`${resource} ${name}`, pointer);
    this.#plain("lifecycle", "start", encode(config));
    const known = before !== null && before.#instance.has("stateful", "snapshot") ? before.#plain("stateful", "snapshot") : null;
    if (known !== null) this.#plain("stateful", "restore", before.descriptor.version, known);
  }

  /** The logged lines: the level, the message, the fields. */
  get lines() {
    return this.#world.lines;
  }
  get writes() {
    return this.#world.writes;
  }
  get requests() {
    return this.#world.requests;
  }
  /** The keys that are due. */
  get keys() {
    return this.#world.keys.due;
  }
  /** The milliseconds until each delayed key is due. */
  get delayed() {
    return this.#world.keys.delayed;
  }
  get series() {
    return this.#world.series;
  }
  /** The plugin's state for this key: bytes, or null. The writes of a failed call are dropped. */
  stateBytes(key) {
    return this.#world.state.get(key);
  }
  /** The same as text. */
  state(key) {
    const value = this.stateBytes(key);
    return value === null ? null : new TextDecoder().decode(value);
  }
  /** The size of the plugin's memory, in bytes. */
  get memory() {
    return this.#instance.size;
  }
  /**
   * A function from a write to its object. It may throw the contract's error: { tag: "status", val: { code, reason,
   * message } }.
   */
  set answerWrite(answer) {
    this.#world.answerWrite = answer;
  }
  /** The same for requests, with { status, headers, body }. */
  set answerRequest(answer) {
    this.#world.answerRequest = answer;
  }

  /** Puts an object into the cache without an event. */
  put(resource, object) {
    this.#world.of(resource).set(keyOf(object.metadata), object);
  }

  /**
   * Delivers an added object to the plugin. Returns the failure, or null. Throws a trap, which ends the instance. If
   * the subscription has `enqueue` rules, the keys of the object wait in `keys` instead, as in a host. The same holds for changed and deleted objects.
   * Of the subscription's conditions `types` and `onlyIfChanged` count: the object is in the view, and passes the filter.
   */
  add(resource, object) {
    this.put(resource, object);
    return this.#tell(resource, "added", object, null);
  }
  update(resource, before, after) {
    this.put(resource, after);
    return this.#tell(resource, "updated", after, before);
  }
  delete(resource, object) {
    this.#world.of(resource).delete(keyOf(object.metadata));
    return this.#tell(resource, "deleted", null, object);
  }

  #tell(resource, change, object, old) {
    const subscription = this.#subscription(resource);
    const { withOld = false, delivery = "full", enqueue = [] } = this.descriptor.subscriptions[subscription];
    if (!isWanted(this.descriptor.subscriptions[subscription], change, object, old)) return null;
    const { namespace = "", name, uid = "" } = (object ?? old).metadata;
    if (enqueue.length > 0) {
      for (const one of [old, object]) if (one !== null) for (const key of keysOf(enqueue, one)) this.#world.keys.add(key);
      return null;
    }
    const shown = (of, is) => (of !== null && is && delivery !== "lazy" ? encode(of) : null);
    this.#world.event = { new: object, old };
    try {
      return this.#answer("handler", "handle", {
        seq: ++this.#seq, subscription, change, reason: "watch", key: { namespace, name }, uid, resourceVersion: `${this.#seq}`,
        gone: change === "deleted" ? "deleted" : null, coalesced: 0, attempt: 1,
        object: shown(object, true), old: shown(old, withOld || change === "deleted"),
      });
    } finally {
      this.#world.event = { new: null, old: null };
    }
  }

  /**
   * Works on every key that is due, in turn. Returns an object by key: the failure of each failed key, and the
   * milliseconds after which each other key comes again. Throws a trap, which ends the instance.
   */
  reconcile() {
    const answers = {};
    while (this.keys.length > 0) {
      const [key, attempt] = this.#world.keys.take();
      const answer = this.#worked(key, attempt);
      if (answer !== null) answers[key] = answer;
    }
    return answers;
  }

  #worked(key, attempt) {
    let answer = { retry: { tag: "backoff" } };
    try {
      return (answer = this.#answer("reconciler", "reconcile", key, attempt));
    } finally {
      if (answer?.retry === undefined) this.#world.keys.succeed(answer);
      else this.#world.keys.fail(answer.retry);
    }
  }

  /**
   * Lets this number of milliseconds pass: the plugin's clock moves, and the delayed keys that are due by then wait in
   * `keys`, in the order of their times. Time passes for no schedule: call `fire`.
   */
  wait(ms) {
    this.#world.wait(ms);
  }

  /** Calls fire. Returns the failure, or null. */
  fire(schedule, at = new Date(0)) {
    if (!(this.descriptor.schedules ?? []).some(({ name }) => name === schedule)) throw new Error(`the plugin has no schedule ${schedule}`);
    return this.#answer("timer", "fire", schedule, at.getTime());
  }

  /** Calls synced: the initial objects of a resource were delivered. Returns the failure, or null. */
  synced(resource) {
    return this.#answer("sync-aware", "synced", this.#subscription(resource));
  }

  /** Calls stop. */
  stop() {
    this.#plain("lifecycle", "stop");
  }

  /** The result of the plugin, including a failure. */
  #answer(name, function_, ...values) {
    try {
      return this.#instance.call(name, function_, ...values);
    } catch (reason) {
      if (reason?.answered === undefined) throw reason;
      return reason.answered;
    }
  }

  #plain(name, function_, ...values) {
    try {
      return this.#instance.call(name, function_, ...values);
    } catch (reason) {
      if (reason?.answered === undefined) throw reason;
      throw new Error(reason.answered.message ?? reason.answered, { cause: reason.answered });
    }
  }

  #subscription(resource) {
    const place = this.descriptor.subscriptions.findIndex((one) => one.resource === resource);
    if (place < 0) throw new Error(`the plugin does not subscribe to ${resource}`);
    return place;
  }
}
