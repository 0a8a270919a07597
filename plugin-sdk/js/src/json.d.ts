// Values that are JSON, and objects of Kubernetes as far as all kinds agree.

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

export interface JsonObject {
  [name: string]: Json;
}

/** The metadata of an object, without `managedFields`, which the host leaves out of the cache. */
export interface ObjectMeta {
  name: string;
  /** Only of objects in a namespace. */
  namespace?: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  generation?: number;
  generateName?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: { [name: string]: string };
  annotations?: { [name: string]: string };
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/**
 * An object of any kind. The type of a kind is an interface of the plugin's own, or one of a package such as
 * `kubernetes-types`.
 */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** `namespace/name`, or the name alone. Or both names in an object, such as an `Event` or an object's metadata. */
export type Key = string | { namespace?: string; name: string };
