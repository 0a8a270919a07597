// The host's functions for the indexer.

@external("informant:plugin/indexer@0.1.0", "get")
export declare function hostGet(gvr: usize, gvrLength: usize, namespace: usize, namespaceLength: usize, name: usize, nameLength: usize, into: usize): void;

@external("informant:plugin/indexer@0.1.0", "fields")
export declare function hostFields(
  gvr: usize, gvrLength: usize, namespace: usize, namespaceLength: usize, name: usize, nameLength: usize, pointers: usize, count: usize, into: usize,
): void;

@external("informant:plugin/indexer@0.1.0", "list")
export declare function hostList(
  gvr: usize, gvrLength: usize, inOne: u32, namespace: usize, namespaceLength: usize, labels: usize, labelsLength: usize, limit: u32,
  hasCursor: u32, cursor: usize, cursorLength: usize, into: usize,
): void;

@external("informant:plugin/indexer@0.1.0", "by-index")
export declare function hostByIndex(
  gvr: usize, gvrLength: usize, index: usize, indexLength: usize, value: usize, valueLength: usize, limit: u32,
  hasCursor: u32, cursor: usize, cursorLength: usize, into: usize,
): void;

@external("informant:plugin/indexer@0.1.0", "index-keys")
export declare function hostIndexKeys(
  gvr: usize, gvrLength: usize, index: usize, indexLength: usize, value: usize, valueLength: usize, limit: u32,
  hasCursor: u32, cursor: usize, cursorLength: usize, into: usize,
): void;

@external("informant:plugin/indexer@0.1.0", "index-values")
export declare function hostIndexValues(
  gvr: usize, gvrLength: usize, index: usize, indexLength: usize, limit: u32, hasCursor: u32, cursor: usize, cursorLength: usize, into: usize,
): void;

@external("informant:plugin/indexer@0.1.0", "count")
export declare function hostCount(gvr: usize, gvrLength: usize, inOne: u32, namespace: usize, namespaceLength: usize, into: usize): void;

@external("informant:plugin/indexer@0.1.0", "has-synced")
export declare function hostHasSynced(gvr: usize, gvrLength: usize, into: usize): void;
