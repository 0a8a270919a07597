// What a plugin asks for. The keys are those of plugin-sdk/descriptor.schema.json, which says what each means; each has a method of its name.

import { Json } from "./json/json";

/** What describe answers. */
export class Descriptor {
  /** As JSON, for a key that this SDK does not know yet. */
  readonly json: Json = Json.object();
  /** Why there is none; empty if there is one. */
  problem: string = "";

  /** With the plugin's own version. */
  constructor(version: string) {
    this.json.set("version", version);
  }

  /** Refuses to run with this configuration: the message says why. */
  static refused(message: string): Descriptor {
    const none = new Descriptor("");
    none.problem = message;
    return none;
  }

  /** Asks to be told of a resource's objects. Events name a subscription by its place. */
  subscribe(subscription: Subscription): Descriptor {
    return this.add("subscriptions", subscription.json);
  }

  /** Files objects by the value at a JSON pointer, in which `*` steps into every member: for indexer.byIndex. */
  index(resource: string, name: string, pointer: string): Descriptor {
    return this.add("indexes", Json.object().set("resource", resource).set("name", name).set("pointer", pointer));
  }

  /** Asks to read a resource without being told of it; of all namespaces if none is named. */
  read(resource: string, namespaces: string[] = []): Descriptor {
    return this.add("reads", Json.object().set("resource", resource).set("namespaces", namespaces));
  }

  /** Says what the plugin means to change: verbs are `create`, `update`, `patch`, `delete`; in all namespaces if none is named. */
  write(resource: string, verbs: string[], namespaces: string[] = []): Descriptor {
    return this.add("writes", Json.object().set("resource", resource).set("verbs", verbs).set("namespaces", namespaces));
  }

  /** Says whom the plugin means to ask: `https://api.example.com`; at all paths and public addresses if none are named. */
  http(origins: string[], methods: string[], paths: string[] = [], addresses: string[] = []): Descriptor {
    const asked = Json.object().set("origins", origins).set("methods", methods);
    if (paths.length > 0) asked.set("paths", paths);
    if (addresses.length > 0) asked.set("addresses", addresses);
    return this.add("http", asked);
  }

  /** Asks for fire to be called at these minutes, in UTC: `0 * * * *`. */
  cron(name: string, cron: string): Descriptor {
    return this.add("schedules", Json.object().set("name", name).set("cron", cron));
  }

  /** Asks for fire to be called again and again after this long: `30s`. */
  every(name: string, every: string): Descriptor {
    return this.add("schedules", Json.object().set("name", name).set("every", every));
  }

  /** In how many instances the plugin asks to run. */
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

/** Asks to be told of the objects of a resource. */
export class Subscription {
  /** As JSON, for a key that this SDK does not know yet. */
  readonly json: Json = Json.object();

  /** Of `v1/pods`, `apps/v1/deployments`. */
  constructor(resource: string) {
    this.json.set("resource", resource);
  }

  private with<T>(key: string, value: T): Subscription {
    this.json.set(key, value);
    return this;
  }

  /** What it is called; else as the resource. */
  name(name: string): Subscription {
    return this.with("name", name);
  }
  /** Only objects of these namespaces. */
  namespaces(names: string[]): Subscription {
    return this.with("namespaces", names);
  }
  /** Only objects with these labels, as kubectl writes it. */
  labelSelector(selector: string): Subscription {
    return this.with("labelSelector", selector);
  }
  /** Only objects with these fields, as kubectl writes it. */
  fieldSelector(selector: string): Subscription {
    return this.with("fieldSelector", selector);
  }
  /** Only these of Change.Added, Change.Updated, Change.Deleted. */
  types(changes: string[]): Subscription {
    return this.with("types", changes);
  }
  /** When present objects are told: `initial`, `initial-and-reload`, `never`. */
  replay(when: string): Subscription {
    return this.with("replay", when);
  }
  /** How much of the object comes along: `full`, `metadata`, `lazy`. */
  delivery(how: string): Subscription {
    return this.with("delivery", how);
  }
  /** Updates bring the state before them, too. */
  withOld(): Subscription {
    return this.with("withOld", true);
  }
  /** Only updates that change the value at one of these JSON pointers. */
  onlyIfChanged(pointers: string[]): Subscription {
    return this.with("onlyIfChanged", pointers);
  }
  /** Only events for which this expression in CEL is true. */
  filter(expression: string): Subscription {
    return this.with("filter", expression);
  }
  /** Tells every object again after this long, for the reason Reason.Resync: `10m`. */
  resyncPeriod(period: string): Subscription {
    return this.with("resyncPeriod", period);
  }
  /** Makes keys of events for the plugin's queue, by one more rule; handle is not called then. */
  enqueue(rule: Enqueue): Subscription {
    if (this.json.get("enqueue").isNothing) this.json.set("enqueue", Json.array());
    this.json.get("enqueue").push(rule.json);
    return this;
  }
}

/** A rule by which an event becomes keys. */
export class Enqueue {
  private constructor(
    /** As JSON. */
    public readonly json: Json,
  ) {}

  /** The object's own key. */
  static self(): Enqueue {
    return new Enqueue(Json.object().set("self", true));
  }
  /** Its owners of a kind: `apps/v1/ReplicaSet`. */
  static owner(kind: string): Enqueue {
    return new Enqueue(Json.object().set("owner", kind));
  }
  /** The name at a JSON pointer. */
  static pointer(pointer: string): Enqueue {
    return new Enqueue(Json.object().set("pointer", pointer));
  }
  /** `object`, `none` or a pointer: where the key's namespace comes from. */
  namespace(from: string): Enqueue {
    this.json.set("namespace", from);
    return this;
  }
  /** What stands before the key. */
  prefix(prefix: string): Enqueue {
    this.json.set("prefix", prefix);
    return this;
  }
}
