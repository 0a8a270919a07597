// The descriptor. tests/declarations.test.js in plugin-sdk/typescript writes this file from descriptor.schema.json.

/**
 * The answer of `lifecycle.describe` in the contract `informant:plugin@0.1.0`. The host refuses unknown keys. A
 * new optional key is not a new version of the contract.
 */
export type Descriptor = {
  /** The plugin's own version, in any form. */
  version: string;
  /** The changes that the plugin wants. An event names its subscription by the place in this list. */
  subscriptions?: readonly SubscriptionSpec[];
  /**
   * Indexes that the plugin reads by. Each is on a resource that the plugin subscribes to or reads, and its name is
   * unique there.
   */
  indexes?: readonly IndexSpec[];
  /** Resources that the plugin reads without a subscription. */
  reads?: readonly ReadSpec[];
  /** The writes to the cluster that the plugin intends. The plugin waits until they are granted. */
  writes?: readonly WriteSpec[];
  /** The HTTP requests that the plugin intends. The plugin waits until they are granted. */
  http?: readonly HttpSpec[];
  /** The times of the plugin's `fire` calls. The plugin must export `timer`. */
  schedules?: readonly ScheduleSpec[];
  /**
   * The number of instances that the plugin asks for. Each gets the events of the objects whose names hash to its
   * number. Not together with `stateful`. The default is 1.
   */
  shards?: number;
};

/** A resource in its text form: `v1/pods`, `apps/v1/deployments`. */
export type Resource = string;

/**
 * Only these namespaces; an empty list means all. The host lists and watches up to 64 namespaces each by itself,
 * and needs a role only in each. A resource without namespaces needs an empty list.
 */
export type Namespaces = readonly string[];

/**
 * Only objects in namespaces with these labels, as kubectl writes them: `team=shop,env in (test, prod)`. The host
 * follows the labels: objects enter and leave the view with them. The host lists and watches all namespaces for
 * that. Not for a resource without namespaces. At most 64 requirements, with 256 values in their sets.
 */
export type NamespaceSelector = string;

/** A JSON pointer (RFC 6901) into the object, of at most 127 steps. */
export type Pointer = string;

/** As Kubernetes writes it: `30s`, `10m`, `1h30m`. */
export type Duration = string;

export type SubscriptionSpec = {
  /**
   * The name of the subscription, unique in the plugin. The default is the resource. The host files waiting events
   * under the name, over reloads too. So the name should stay the same over versions.
   */
  name?: string;
  resource: Resource;
  namespaces?: Namespaces;
  namespaceSelector?: NamespaceSelector;
  /**
   * Only objects with these labels, as kubectl writes them: `app=web,tier in (front, back)`. At most 64
   * requirements, with 256 values in their sets.
   */
  labelSelector?: string;
  /**
   * Only objects with these fields, as kubectl writes them: `spec.nodeName=worker-1`. At most 32 requirements, of
   * paths of at most 32 steps.
   */
  fieldSelector?: string;
  /** Only these changes. */
  types?: readonly ("added" | "updated" | "deleted")[];
  /**
   * When the plugin gets the existing objects: once (the default), also in every new version (the default with
   * `enqueue`), or never.
   */
  replay?: "initial" | "initial-and-reload" | "never";
  /**
   * How much of the object comes with an event: `full` all of it, `metadata` its apiVersion, kind and metadata,
   * also in `event-data` and `indexer`, `lazy` nothing until the plugin asks for it. The default is "full".
   */
  delivery?: "full" | "metadata" | "lazy";
  /** Updates bring the old object too. The default is false. */
  withOld?: boolean;
  /** Only updates that change the value at one of these pointers. */
  onlyIfChanged?: readonly Pointer[];
  /**
   * Only events for which this CEL expression over `object`, `old` and `change` is true. A deletion passes unless
   * the expression names `change`.
   */
  filter?: string;
  /** The time after which the host delivers every object again, as an update with the reason `resync`: 1s to 8784h. */
  resyncPeriod?: Duration;
  /**
   * Keys for the plugin's workqueue, computed from the old and the new object. The host then does not call
   * `handle`. The plugin must export `reconciler`.
   */
  enqueue?: readonly EnqueueRule[];
};

export type EnqueueRule = "self" | {
  /** The object's own key. */
  self: true;
  owner?: never;
  pointer?: never;
  /** The key's namespace: the object's, none, or the value at a pointer. The default is "object". */
  namespace?: "object" | "none" | Pointer;
  /** The text before the key. */
  prefix?: string;
} | {
  self?: never;
  /** The keys of the object's owners of this kind, in any version: `apps/v1/ReplicaSet`. */
  owner: string;
  pointer?: never;
  /** The key's namespace: the object's, none, or the value at a pointer. The default is "object". */
  namespace?: "object" | "none" | Pointer;
  /** The text before the key. */
  prefix?: string;
} | {
  self?: never;
  owner?: never;
  /** The name is the text at this pointer. */
  pointer: Pointer;
  /** The key's namespace: the object's, none, or the value at a pointer. The default is "object". */
  namespace?: "object" | "none" | Pointer;
  /** The text before the key. */
  prefix?: string;
};

export type IndexSpec = {
  resource: Resource;
  name: string;
  /** The pointer to the values of the index. `*` steps into every member of a list or object. */
  pointer: Pointer;
};

export type ReadSpec = {
  resource: Resource;
  namespaces?: Namespaces;
  namespaceSelector?: NamespaceSelector;
};

export type WriteSpec = {
  /** The resource, with its subresource if one is meant: `v1/pods`, `v1/pods/status`. */
  resource: string;
  verbs: readonly ("create" | "update" | "patch" | "delete")[];
  namespaces?: Namespaces;
};

export type HttpSpec = {
  /**
   * Scheme, host and port: `https://api.example.com`, `http://alerts.shop.svc:9093`; `https://*.example.com` stands
   * for all names below `example.com`.
   */
  origins: readonly string[];
  methods: readonly ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS")[];
  /** Only these paths and all paths below them. */
  paths?: readonly string[];
  /** The kinds of the origins' addresses. The default is ["public"]. */
  addresses?: readonly ("public" | "private" | "loopback")[];
};

export type ScheduleSpec = {
  /** The name of the schedule, unique in the plugin. Each call has it. */
  name: string;
  /** A cron line of five fields: minute, hour, day of month, month, day of week; in UTC. */
  cron: string;
  every?: never;
} | {
  /** The name of the schedule, unique in the plugin. Each call has it. */
  name: string;
  cron?: never;
  /** The time from each call to the next: 100 ms to 366 days. */
  every: Duration;
};
