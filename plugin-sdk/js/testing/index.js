// Runs a plugin in an ordinary test of Node.js, without WebAssembly and without a host:
//   node --import informant-plugin/testing/register --test

import * as clock from "./clock.js";
import { encode, isWanted, keyOf, keysOf, use, World } from "./world.js";

/** A host with one plugin: the exports of its file. */
export class Host {
  #plugin;
  #world;
  #seq = 0;

  /**
   * With `before`, it is a reload of the previous host: the cache, the state, the keys, the metrics and the log
   * continue.
   */
  constructor(plugin, config = {}, before = null) {
    this.#plugin = plugin;
    this.#world = before === null ? new World() : before.#world;
    if (before === null) clock.reset();
    use(this.#world);
    this.descriptor = JSON.parse(new TextDecoder().decode(plugin.lifecycle.describe(encode(config))));
    for (const { resource, name, pointer } of this.descriptor.indexes ?? []) {
      this.#world.indexes.set(`${resource} ${name}`, pointer);
    }
    plugin.lifecycle.start(encode(config));
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
  /** The number of this instance, and of all: `hostInfo.shard`. */
  set shard(shard) {
    this.#world.shard = shard;
  }
  set answerWrite(answer) {
    this.#world.answerWrite = answer;
  }
  set answerRequest(answer) {
    this.#world.answerRequest = answer;
  }

  /** Puts an object into the cache without an event. */
  put(resource, object) {
    this.#world.of(resource).set(keyOf(object.metadata), object);
  }

  /**
   * Delivers an added object to the plugin. Returns the failure, or null. If the subscription has `enqueue` rules, the
   * keys of the object wait in `keys` instead, as in a host. The same holds for changed and deleted objects. Of the
   * subscription's conditions `types` and `onlyIfChanged` count: the object is in the view, and passes the filter.
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
    if (enqueue.length > 0) {
      for (const one of [old, object]) if (one !== null) for (const key of keysOf(enqueue, one)) this.#world.keys.add(key);
      return null;
    }
    const { namespace = "", name, uid = "" } = (object ?? old).metadata;
    const shown = (of, is) => (of !== null && is && delivery !== "lazy" ? encode(of) : null);
    this.#world.event = { new: object, old };
    try {
      this.#plugin.handler.handle({
        seq: ++this.#seq, subscription, change, reason: "watch", key: { namespace, name }, uid, resourceVersion: `${this.#seq}`,
        gone: change === "deleted" ? "deleted" : null, coalesced: 0, attempt: 1,
        object: shown(object, true), old: shown(old, withOld || change === "deleted"),
      });
      return null;
    } catch (failure) {
      return failure;
    } finally {
      this.#world.event = { new: null, old: null };
    }
  }

  /**
   * Works on every key that is due, in turn. Returns the milliseconds after which keys come again, by their names. Throws
   * the first failure; its key comes again as the failure says.
   */
  reconcile() {
    const again = {};
    while (this.keys.length > 0) {
      const [key, attempt] = this.#world.keys.take();
      try {
        const wait = this.#plugin.reconciler.reconcile(key, attempt);
        this.#world.keys.succeed(wait);
        if (wait !== null) again[key] = wait;
      } catch (failure) {
        this.#world.keys.fail(failure?.retry ?? { tag: "backoff" });
        throw failure;
      }
    }
    return again;
  }

  /**
   * Lets this number of milliseconds pass: `Date` moves, and the delayed keys that are due by then wait in `keys`, in the
   * order of their times.
   */
  wait(ms) {
    clock.move(ms);
    this.#world.keys.wait(ms);
  }

  /** Calls `fire`. Returns the failure, or null. */
  fire(schedule, at = new Date(0)) {
    if (!(this.descriptor.schedules ?? []).some(({ name }) => name === schedule)) throw new Error(`the plugin has no schedule ${schedule}`);
    return this.#call(() => this.#plugin.timer.fire(schedule, BigInt(at.getTime())));
  }

  /** Calls `synced`: the initial objects of a resource were delivered. Returns the failure, or null. */
  synced(resource) {
    return this.#call(() => this.#plugin.syncAware.synced(this.#subscription(resource)));
  }

  #call(f) {
    try {
      f();
      return null;
    } catch (failure) {
      return failure;
    }
  }

  #subscription(resource) {
    const place = this.descriptor.subscriptions.findIndex((one) => one.resource === resource);
    if (place < 0) throw new Error(`the plugin does not subscribe to ${resource}`);
    return place;
  }
}
