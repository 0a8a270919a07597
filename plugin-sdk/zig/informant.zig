//! Informant plugins in Zig: bindings for the whole contract (plugin-sdk/wit/plugin.wit), with Zig's own compiler and nothing else. A plugin is a
//! struct whose declarations say what it wants and what it does; README.md has one, `plugin` the list of what it can declare.
//!
//! What the host hands over, and what is made in `arena`, lives until the call ends. `allocator` is for what stays.
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
