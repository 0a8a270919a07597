// Writes to the cluster, if the host's operator has granted them: Descriptor.write declares them. The plugin waits for
// the answer. Writes are possible in handle, reconcile, fire and synced. A failed call does not undo its writes.

import { AREA, mark, release } from "./abi/memory";
import { text as textAt } from "./abi/read";
import { optionalText, text } from "./abi/write";
import { Key } from "./event";
import { Json } from "./json/json";
import { Problem, Result } from "./problem";

@external("informant:plugin/kube@0.1.0", "create")
declare function hostCreate(
  gvr: usize, gvrLength: usize, namespace: usize, namespaceLength: usize, name: usize, nameLength: usize,
  subresource: usize, subresourceLength: usize, object: usize, objectLength: usize, into: usize,
): void;
@external("informant:plugin/kube@0.1.0", "update")
declare function hostUpdate(
  gvr: usize, gvrLength: usize, namespace: usize, namespaceLength: usize, name: usize, nameLength: usize,
  subresource: usize, subresourceLength: usize, object: usize, objectLength: usize, into: usize,
): void;
@external("informant:plugin/kube@0.1.0", "patch")
declare function hostPatch(
  gvr: usize, gvrLength: usize, namespace: usize, namespaceLength: usize, name: usize, nameLength: usize,
  subresource: usize, subresourceLength: usize, type: u32, force: u32, patch: usize, patchLength: usize, into: usize,
): void;
@external("informant:plugin/kube@0.1.0", "delete")
declare function hostDelete(
  gvr: usize, gvrLength: usize, namespace: usize, namespaceLength: usize, name: usize, nameLength: usize,
  hasUid: u32, uid: usize, uidLength: usize, into: usize,
): void;
@external("informant:plugin/kube@0.1.0", "record-event")
declare function hostRecordEvent(
  gvr: usize, gvrLength: usize, namespace: usize, namespaceLength: usize, name: usize, nameLength: usize,
  warning: u32, reason: usize, reasonLength: usize, message: usize, messageLength: usize, into: usize,
): void;

/** The format of a patch. */
export enum PatchType {
  /** RFC 6902. */
  JsonPatch,
  /** RFC 7386: its values replace the present ones, lists as a whole. */
  Merge,
  /** Lists merge by key. Not for custom resources. */
  Strategic,
  /** Server-side apply. The field manager is `informant-` and the plugin's name. */
  Apply,
  /** The same, and it takes over fields of other managers. */
  ForceApply,
}

const KINDS: StaticArray<string> = ["not-granted", "not-leader", "invalid", "status", "transport"];
const NOT_LEADER = 1;
const STATUS = 3;

/** The problem in an answer. Null if there is none. */
function refused(): Problem | null {
  if (load<u8>(AREA) == 0) return null;
  const number = load<u8>(AREA, 8);
  const kind = KINDS[number];
  if (number == NOT_LEADER) return new Problem("kube", kind);
  if (number != STATUS) return new Problem("kube", kind, textAt(AREA + 16));
  const wait = load<u8>(AREA, 40) == 0 ? -1 : load<i64>(AREA, 48);
  return new Problem("kube", kind, textAt(AREA + 28), load<u16>(AREA, 16), textAt(AREA + 20), wait);
}

/** The answer of the API server. Frees the call's blocks. */
function written(before: usize): Result<Json> {
  const problem = refused();
  const object = problem === null ? Json.parseAt(load<usize>(AREA, 8), load<usize>(AREA, 12)) : Result.refused<Json>(problem);
  release(before);
  return object;
}

/**
 * Writes to the cluster. The kind of a problem is the contract's word. With `status` the problem has the API server's
 * code and reason.
 */
export namespace kube {
  /**
   * Creates an object. If the name is empty, the object's generateName applies. A subresource such as `eviction` needs
   * the name.
   */
  export function create(resource: string, key: Key, object: Json, subresource: string = ""): Result<Json> {
    const before = mark();
    const gvr = text(resource), space = text(key.namespace), name = text(key.name), sub = text(subresource), body = text(object.toString());
    hostCreate(gvr.at, gvr.length, space.at, space.length, name.at, name.length, sub.at, sub.length, body.at, body.length, AREA);
    return written(before);
  }

  /** Replaces an object. Objects from the cache lack the last-applied annotation, so use patch instead. */
  export function update(resource: string, key: Key, object: Json, subresource: string = ""): Result<Json> {
    const before = mark();
    const gvr = text(resource), space = text(key.namespace), name = text(key.name), sub = text(subresource), body = text(object.toString());
    hostUpdate(gvr.at, gvr.length, space.at, space.length, name.at, name.length, sub.at, sub.length, body.at, body.length, AREA);
    return written(before);
  }

  /** Changes only the fields that the patch names. */
  export function patch(resource: string, key: Key, type: PatchType, patch: Json, subresource: string = ""): Result<Json> {
    const before = mark();
    const gvr = text(resource), space = text(key.namespace), name = text(key.name), sub = text(subresource), body = text(patch.toString());
    const force = type == PatchType.ForceApply;
    const number: u32 = force ? PatchType.Apply : type;
    hostPatch(
      gvr.at, gvr.length, space.at, space.length, name.at, name.length, sub.at, sub.length, number, force, body.at, body.length, AREA,
    );
    return written(before);
  }

  /** Deletes an object. With a UID it deletes only the object with this UID. */
  export function remove(resource: string, key: Key, uid: string | null = null): Problem | null {
    const before = mark();
    const gvr = text(resource), space = text(key.namespace), name = text(key.name), only = optionalText(uid);
    hostDelete(gvr.at, gvr.length, space.at, space.length, name.at, name.length, uid !== null, only.at, only.length, AREA);
    const problem = refused();
    release(before);
    return problem;
  }

  /** Writes a Kubernetes Event about the object, without waiting for it. */
  export function recordEvent(resource: string, key: Key, reason: string, message: string, warning: bool = false): Problem | null {
    const before = mark();
    const gvr = text(resource), space = text(key.namespace), name = text(key.name), why = text(reason), words = text(message);
    hostRecordEvent(
      gvr.at, gvr.length, space.at, space.length, name.at, name.length, warning, why.at, why.length, words.at, words.length, AREA,
    );
    const problem = refused();
    release(before);
    return problem;
  }
}
