// The shared cache: the resources of the plugin's subscriptions and of its descriptor's reads. Reads never wait and
// never reach the API server.

import { AREA, mark, release } from "./abi/memory";
import { text, texts } from "./abi/write";
import { Key } from "./event";
import { fieldsAt, wholeAt } from "./json/answers";
import { Json } from "./json/json";
import { hostCount, hostFields, hostGet, hostHasSynced } from "./indexer/host";
import { Keys, Objects, Under, Values } from "./indexer/pages";
import { refused } from "./indexer/refused";
import { Result } from "./problem";

export { Keys, Objects, Values } from "./indexer/pages";

/** The shared cache. The namespace null means all namespaces, and objects without a namespace. */
export namespace indexer {
  /** One object, or nothing. */
  export function get(resource: string, key: Key): Result<Json> {
    const before = mark();
    const gvr = text(resource);
    const space = text(key.namespace);
    const name = text(key.name);
    hostGet(gvr.at, gvr.length, space.at, space.length, name.at, name.length, AREA);
    const problem = refused(AREA, 4);
    const found = problem === null ? wholeAt(AREA + 4) : Result.refused<Json>(problem);
    release(before);
    return found;
  }

  /**
   * The values at up to 256 JSON pointers of one object, with nothing for each missing value. Null if the object does
   * not exist. Much cheaper than the whole object.
   */
  export function fields(resource: string, key: Key, pointers: string[]): Result<Json[] | null> {
    const before = mark();
    const gvr = text(resource);
    const space = text(key.namespace);
    const name = text(key.name);
    const list = texts(pointers);
    hostFields(gvr.at, gvr.length, space.at, space.length, name.at, name.length, list.at, list.length, AREA);
    const problem = refused(AREA, 4);
    const found: Json[] | null = problem !== null || load<u8>(AREA, 4) == 0 ? null : fieldsAt(AREA + 8);
    release(before);
    return problem === null ? Result.of<Json[] | null>(found) : Result.refused<Json[] | null>(problem);
  }

  /** Every object with these labels, page by page: `while (pods.next()) use(pods.item)`. */
  export function list(resource: string, namespace: string | null = null, labelSelector: string = ""): Objects {
    return new Objects(new Under(resource, "", labelSelector, namespace), true);
  }

  /** Every object that an index has for a value. */
  export function byIndex(resource: string, index: string, value: string): Objects {
    return new Objects(new Under(resource, index, value, null), false);
  }

  /** The key of every such object. */
  export function indexKeys(resource: string, index: string, value: string): Keys {
    return new Keys(new Under(resource, index, value, null));
  }

  /** Every value of an index. */
  export function indexValues(resource: string, index: string): Values {
    return new Values(new Under(resource, index, "", null));
  }

  /** The number of objects. */
  export function count(resource: string, namespace: string | null = null): Result<u64> {
    const before = mark();
    const gvr = text(resource);
    const within = text(namespace === null ? "" : namespace);
    hostCount(gvr.at, gvr.length, namespace !== null, within.at, within.length, AREA);
    const problem = refused(AREA, 8);
    release(before);
    return problem === null ? Result.of<u64>(load<u64>(AREA, 8)) : Result.refused<u64>(problem);
  }

  /** Whether the first list is complete. Before that, an absent object may exist. */
  export function hasSynced(resource: string): Result<bool> {
    const before = mark();
    const gvr = text(resource);
    hostHasSynced(gvr.at, gvr.length, AREA);
    const problem = refused(AREA, 4);
    release(before);
    return problem === null ? Result.of<bool>(load<u8>(AREA, 4) != 0) : Result.refused<bool>(problem);
  }
}
