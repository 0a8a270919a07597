//! Informant plugins in Zig: bindings for the whole contract (plugin-sdk/wit/plugin.wit), with only Zig's own
//! compiler. A plugin is a struct whose declarations contain its needs and its functions. README.md has an example,
//! and `plugin` lists the possible declarations.
//!
//! Arguments of the host, and memory of `arena`, live until the call ends. Use `allocator` for memory that stays.
const exports = @import("exports.zig");
const failure = @import("failure.zig");
const log_lines = @import("log.zig");
const memory = @import("memory.zig");

pub const plugin = exports.plugin;
pub const panic = @import("panic.zig").panic;
pub const std_options = log_lines.std_options;

pub const arena = memory.arena;
pub const allocator = memory.allocator;
pub const Scope = memory.Scope;

pub const Config = @import("config.zig").Config;
pub const Event = events.Event;
pub const Key = events.Key;
pub const Change = events.Change;
pub const Reason = events.Reason;
pub const Gone = events.Gone;

pub const Descriptor = descriptors.Descriptor;
pub const Subscription = descriptors.Subscription;
pub const Enqueue = descriptors.Enqueue;
pub const Index = descriptors.Index;
pub const Read = descriptors.Read;
pub const Write = descriptors.Write;
pub const Http = descriptors.Http;
pub const Schedule = descriptors.Schedule;

pub const fail = failure.fail;
pub const never = failure.never;
pub const after = failure.after;
pub const message = failure.message;
pub const Failed = failure.Failed;
pub const Failure = failure.Failure;
pub const Retry = failure.Retry;

pub const json = @import("json.zig");
pub const log = log_lines;
pub const event_data = @import("event_data.zig");
pub const indexer = @import("indexer.zig");
pub const workqueue = @import("workqueue.zig");
pub const state = @import("state.zig");
pub const metrics = @import("metrics.zig");
pub const kube = @import("kube.zig");
pub const http = @import("http.zig");
pub const host_info = @import("host_info.zig");

/// A host for ordinary tests, without WebAssembly.
pub const testing = @import("testing/testing.zig");

const descriptors = @import("descriptor.zig");
const events = @import("event.zig");
