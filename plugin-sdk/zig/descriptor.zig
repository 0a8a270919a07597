//! The descriptor, with which a plugin declares its needs. Its keys are those of plugin-sdk/descriptor.schema.json,
//! which describes each of them, in Zig's spelling: `labelSelector` is `label_selector`, and `initial-and-reload` is
//! `.initial_and_reload`.
const std = @import("std");
const Change = @import("event.zig").Change;
const memory = @import("memory.zig");
const Stringify = std.json.Stringify;

pub const Descriptor = struct {
    /// The plugin's own version.
    version: []const u8,
    subscriptions: []const Subscription = &.{},
    indexes: []const Index = &.{},
    reads: []const Read = &.{},
    writes: []const Write = &.{},
    http: []const Http = &.{},
    schedules: []const Schedule = &.{},
    /// The number of instances. Null means one. Not together with `snapshot`.
    shards: ?u8 = null,

    /// The JSON for the host. It lives until the call ends. Null, false and empty values are omitted.
    pub fn json(descriptor: Descriptor) error{OutOfMemory}![]const u8 {
        var text: std.Io.Writer.Allocating = .init(memory.arena);
        var writer: Stringify = .{ .writer = &text.writer };
        write(&writer, descriptor) catch return error.OutOfMemory;
        return text.written();
    }
};

/// Subscribes to the objects of a resource.
pub const Subscription = struct {
    /// The name of the subscription. Null means the resource.
    name: ?[]const u8 = null,
    /// A resource such as `v1/pods` or `apps/v1/deployments`.
    resource: []const u8,
    namespaces: []const []const u8 = &.{},
    /// Restricts the namespaces by their labels, such as `team=shop`.
    namespace_selector: ?[]const u8 = null,
    label_selector: ?[]const u8 = null,
    field_selector: ?[]const u8 = null,
    /// Restricts the subscription to these changes.
    types: []const Change = &.{},
    replay: ?enum { initial, initial_and_reload, never } = null,
    delivery: ?enum { full, metadata, lazy } = null,
    with_old: bool = false,
    only_if_changed: []const []const u8 = &.{},
    /// An expression in CEL.
    filter: ?[]const u8 = null,
    /// Delivers every object again after this time, such as `10m`, as an update with the reason `resync`.
    resync_period: ?[]const u8 = null,
    /// Adds keys for `reconcile` instead of calls of `handle`.
    enqueue: []const Enqueue = &.{},
};

/// A rule that makes a key from an event: the key of the object itself, of its owners of a kind, or with the name at a
/// JSON pointer.
pub const Enqueue = struct {
    of: union(enum) { self, owner: []const u8, pointer: []const u8 },
    /// `object`, `none` or a pointer.
    namespace: ?[]const u8 = null,
    prefix: ?[]const u8 = null,
};

/// Finds objects by the value at a JSON pointer. `*` steps into every member.
pub const Index = struct { resource: []const u8, name: []const u8, pointer: []const u8 };

/// Reads a resource without events for its changes.
pub const Read = struct {
    resource: []const u8,
    namespaces: []const []const u8 = &.{},
    /// Restricts the namespaces by their labels, such as `team=shop`.
    namespace_selector: ?[]const u8 = null,
};

/// Declares writes of the plugin. The plugin does not run before they are granted.
pub const Write = struct {
    resource: []const u8,
    verbs: []const enum { create, update, patch, delete },
    namespaces: []const []const u8 = &.{},
};

/// Declares HTTP requests of the plugin. The plugin does not run before they are granted.
pub const Http = struct {
    origins: []const []const u8,
    methods: []const enum { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS },
    paths: []const []const u8 = &.{},
    addresses: []const enum { public, private, loopback } = &.{},
};

/// Calls `fire` by a cron line in UTC, or again and again after a time such as `30s`.
pub const Schedule = struct {
    name: []const u8,
    when: union(enum) { cron: []const u8, every: []const u8 },
};

fn write(writer: *Stringify, value: anytype) Stringify.Error!void {
    const T = @TypeOf(value);
    switch (@typeInfo(T)) {
        .@"struct" => |info| {
            try writer.beginObject();
            inline for (info.field_names) |name| try writeField(writer, name, @field(value, name));
            try writer.endObject();
        },
        .@"enum" => try writer.write(try spelt(@tagName(value))),
        .pointer => if (T == []const u8) try writer.write(value) else {
            try writer.beginArray();
            for (value) |one| try write(writer, one);
            try writer.endArray();
        },
        else => try writer.write(value),
    }
}

fn writeField(writer: *Stringify, comptime name: []const u8, value: anytype) Stringify.Error!void {
    switch (@typeInfo(@TypeOf(value))) {
        .optional => if (value) |some| try writeField(writer, name, some),
        // The value has exactly one of several keys.
        .@"union" => switch (value) {
            inline else => |of, key| try writeField(writer, @tagName(key), if (@TypeOf(of) == void) true else of),
        },
        .bool => if (value) {
            try writer.objectField(comptime key_of(name));
            try writer.write(true);
        },
        .pointer => |info| if (info.child == u8 or value.len > 0) {
            try writer.objectField(comptime key_of(name));
            try write(writer, value);
        },
        else => {
            try writer.objectField(comptime key_of(name));
            try write(writer, value);
        },
    }
}

/// Converts `label_selector` to the schema's spelling: `labelSelector`.
fn key_of(comptime name: []const u8) []const u8 {
    comptime var key: []const u8 = "";
    inline for (name, 0..) |letter, i| {
        if (letter == '_') continue;
        key = key ++ .{if (i > 0 and name[i - 1] == '_') std.ascii.toUpper(letter) else letter};
    }
    return key;
}

/// Converts `initial_and_reload` to the schema's spelling: `initial-and-reload`.
fn spelt(tag: []const u8) Stringify.Error![]const u8 {
    const word = memory.arena.dupe(u8, tag) catch return error.WriteFailed;
    std.mem.replaceScalar(u8, word, '_', '-');
    return word;
}
