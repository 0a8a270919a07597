// Informant plugins in AssemblyScript: all names that a plugin's own files import. The contract, plugin-sdk/wit,
// contains the host's guarantees.

export { Config } from "./config";
export { Descriptor, Enqueue, Subscription } from "./descriptor";
export { Change, Event, Gone, Key, Reason } from "./event";
export { eventData, Side } from "./event-data";
export { again, done, failed, Failure, Reconciled } from "./failure";
export { hostInfo, Shard } from "./host-info";
export { http, Request, Response } from "./http";
export { indexer, Keys, Objects, Values } from "./indexer";
export { Json, JsonKind } from "./json/json";
export { kube, PatchType } from "./kube";
export { log } from "./log";
export { metrics } from "./metrics";
export { Problem, Result } from "./problem";
export { state } from "./state";
export { utf8 } from "./utf8";
export { workqueue } from "./workqueue";
