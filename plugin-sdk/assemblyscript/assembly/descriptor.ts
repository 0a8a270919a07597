// The descriptor, with which a plugin declares its needs. Its keys are those of plugin-sdk/descriptor.schema.json,
// which describes each of them. Each key has a method with its name.

import { Json } from "./json/json";

/** The result of describe. */
export class Descriptor {
  /** As JSON, for a key that this SDK does not know yet. */
  readonly json: Json = Json.object();
  /** The reason for a refusal. Empty if there is a descriptor. */
  problem: string = "";

  /** A descriptor with the plugin's own version. */
  constructor(version: string) {
    this.json.set("version", version);
  }

  /** Refuses to run with this configuration. The message is the reason. */
  static refused(message: string): Descriptor {
    const none = new Descriptor("");
    none.problem = message;
    return none;
  }

  /** Subscribes to a resource. Events contain the index of their subscription. */
  subscribe(subscription: Subscription): Descriptor {
    return this.add("subscriptions", subscription.json);
  }

  /** Adds an index by the value at a JSON pointer, for indexer.byIndex. `*` steps into every member. */
  index(resource: string, name: string, pointer: string): Descriptor {
    return this.add("indexes", Json.object().set("resource", resource).set("name", name).set("pointer", pointer));
  }

  /** Reads a resource without events for its changes. Without namespaces: all of them, or those with these labels. */
  read(resource: string, namespaces: string[] = [], namespaceSelector: string = ""): Descriptor {
    const read = Json.object().set("resource", resource).set("namespaces", namespaces);
    return this.add("reads", namespaceSelector == "" ? read : read.set("namespaceSelector", namespaceSelector));
  }

  /** Declares writes: verbs are `create`, `update`, `patch`, `delete`. Without namespaces: all of them. */
  write(resource: string, verbs: string[], namespaces: string[] = []): Descriptor {
    return this.add("writes", Json.object().set("resource", resource).set("verbs", verbs).set("namespaces", namespaces));
  }

  /**
   * Declares HTTP requests to origins such as `https://api.example.com`. By default: all paths, and public addresses.
   */
  http(origins: string[], methods: string[], paths: string[] = [], addresses: string[] = []): Descriptor {
    const asked = Json.object().set("origins", origins).set("methods", methods);
    if (paths.length > 0) asked.set("paths", paths);
    if (addresses.length > 0) asked.set("addresses", addresses);
    return this.add("http", asked);
  }

  /** Calls fire at these minutes, in UTC: `0 * * * *`. */
  cron(name: string, cron: string): Descriptor {
    return this.add("schedules", Json.object().set("name", name).set("cron", cron));
  }

  /** Calls fire again and again after this time: `30s`. */
  every(name: string, every: string): Descriptor {
    return this.add("schedules", Json.object().set("name", name).set("every", every));
  }

  /** The number of instances. */
  shards(count: i32): Descriptor {
    this.json.set("shards", count);
    return this;
  }

  private add(key: string, item: Json): Descriptor {
    if (this.json.get(key).isNothing) this.json.set(key, Json.array());
    this.json.get(key).push(item);
    return this;
  }
}

/** A subscription to the objects of a resource. */
export class Subscription {
  /** As JSON, for a key that this SDK does not know yet. */
  readonly json: Json = Json.object();

  /** A subscription to a resource such as `v1/pods` or `apps/v1/deployments`. */
  constructor(resource: string) {
    this.json.set("resource", resource);
  }

  private with<T>(key: string, value: T): Subscription {
    this.json.set(key, value);
    return this;
  }

  /** Its name. The default is the resource. */
  name(name: string): Subscription {
    return this.with("name", name);
  }
  /** Restricts the subscription to these namespaces. */
  namespaces(names: string[]): Subscription {
    return this.with("namespaces", names);
  }
  /** Restricts the subscription to namespaces with these labels, in kubectl's notation. */
  namespaceSelector(selector: string): Subscription {
    return this.with("namespaceSelector", selector);
  }
  /** Restricts the subscription to objects with these labels, in kubectl's notation. */
  labelSelector(selector: string): Subscription {
    return this.with("labelSelector", selector);
  }
  /** Restricts the subscription to objects with these fields, in kubectl's notation. */
  fieldSelector(selector: string): Subscription {
    return this.with("fieldSelector", selector);
  }
  /** Restricts the subscription to these of Change.Added, Change.Updated, Change.Deleted. */
  types(changes: string[]): Subscription {
    return this.with("types", changes);
  }
  /** When existing objects are delivered: `initial`, `initial-and-reload`, `never`. */
  replay(when: string): Subscription {
    return this.with("replay", when);
  }
  /** The part of the object that comes with an event: `full`, `metadata`, `lazy`. */
  delivery(how: string): Subscription {
    return this.with("delivery", how);
  }
  /** Adds the previous state to updates. */
  withOld(): Subscription {
    return this.with("withOld", true);
  }
  /** Drops updates that change no value at these JSON pointers. */
  onlyIfChanged(pointers: string[]): Subscription {
    return this.with("onlyIfChanged", pointers);
  }
  /** Drops events for which this expression in CEL is false. */
  filter(expression: string): Subscription {
    return this.with("filter", expression);
  }
  /** Delivers every object again after this time, such as `10m`, with the reason Reason.Resync. */
  resyncPeriod(period: string): Subscription {
    return this.with("resyncPeriod", period);
  }
  /** Adds a rule that makes keys for the plugin's queue from events. handle is not called then. */
  enqueue(rule: Enqueue): Subscription {
    if (this.json.get("enqueue").isNothing) this.json.set("enqueue", Json.array());
    this.json.get("enqueue").push(rule.json);
    return this;
  }
}

/** A rule that makes a key from an event. */
export class Enqueue {
  private constructor(
    /** As JSON. */
    public readonly json: Json,
  ) {}

  /** The object's own key. */
  static self(): Enqueue {
    return new Enqueue(Json.object().set("self", true));
  }
  /** The keys of its owners of a kind: `apps/v1/ReplicaSet`. */
  static owner(kind: string): Enqueue {
    return new Enqueue(Json.object().set("owner", kind));
  }
  /** The name at a JSON pointer. */
  static pointer(pointer: string): Enqueue {
    return new Enqueue(Json.object().set("pointer", pointer));
  }
  /** The source of the key's namespace: `object`, `none` or a pointer. */
  namespace(from: string): Enqueue {
    this.json.set("namespace", from);
    return this;
  }
  /** A prefix of the key. */
  prefix(prefix: string): Enqueue {
    this.json.set("prefix", prefix);
    return this;
  }
}
