//! A change of one object, for one subscription.
const std = @import("std");
const abi = @import("abi.zig");
const failure = @import("failure.zig");
const json = @import("json.zig");
const memory = @import("memory.zig");

/// The kind of the change.
pub const Change = enum(u8) { added, updated, deleted };

/// The reason for the event.
pub const Reason = enum(u8) {
    /// The object existed before the plugin subscribed.
    initial,
    /// The API server reported the change on a watch.
    watch,
    /// A relist found a difference that the watch had missed.
    relist,
    /// The subscription's resync period has passed; the object has not changed.
    resync,
    /// A new version of the plugin asked for its objects again.
    reload,
    /// A person sent a dead letter again, with the object's present state.
    redrive,
};

/// The kind of a deletion.
pub const Gone = enum(u8) {
    /// The object was deleted.
    deleted,
    /// The object exists, but no longer matches the subscription.
    left_view,
    /// One of the two.
    unknown,
};

/// The key of an object. `namespace` is empty for cluster-scoped objects.
pub const Key = struct {
    namespace: []const u8 = "",
    name: []const u8,

    /// Parses `namespace/name`, or a name alone.
    pub fn parse(key: []const u8) Key {
        const slash = std.mem.indexOfScalar(u8, key, '/') orelse return .{ .name = key };
        return .{ .namespace = key[0..slash], .name = key[slash + 1 ..] };
    }

    /// `{f}` prints `namespace/name`, or the name alone.
    pub fn format(key: Key, writer: *std.Io.Writer) std.Io.Writer.Error!void {
        if (key.namespace.len > 0) try writer.print("{s}/", .{key.namespace});
        try writer.writeAll(key.name);
    }

    /// The same as a text, which lives until the call ends.
    pub fn text(key: Key) error{OutOfMemory}![]const u8 {
        return std.fmt.allocPrint(memory.arena, "{f}", .{key});
    }

    pub fn lift(key: abi.Key) Key {
        return .{ .namespace = key.namespace.slice(), .name = key.name.slice() };
    }
};

/// One event. Its texts live until the call ends.
pub const Event = struct {
    /// Rises with every event. A retry keeps its number.
    seq: u64,
    /// The index of the subscription in the descriptor's list.
    subscription: u32,
    change: Change,
    reason: Reason,
    key: Key,
    uid: []const u8,
    resource_version: []const u8,
    /// Only for a deletion.
    gone: ?Gone,
    /// The number of older, undelivered events that this event replaces.
    coalesced: u32,
    /// 1 for the first delivery.
    attempt: u32,
    /// The JSON of the new state. Null for a deleted object, and with lazy delivery.
    object: ?[]const u8,
    /// The JSON of the previous state: for every deletion, and for other events if the subscription has `with_old`.
    old: ?[]const u8,

    /// Decodes the object into a struct: the new state, or the last state of a deleted object. Fields that the struct
    /// does not have are ignored. A field that an object may lack needs a default.
    pub fn decode(event: Event, comptime T: type) (json.DecodeError || failure.Failed)!T {
        const object = event.object orelse event.old orelse
            return failure.never("the event brought no object; read it with informant.event_data, or subscribe with full delivery", .{});
        return json.decode(T, object);
    }

    /// Decodes the previous state. Null if there is none.
    pub fn decodeOld(event: Event, comptime T: type) json.DecodeError!?T {
        return try json.decode(T, event.old orelse return null);
    }

    pub fn lift(event: *const abi.Event) Event {
        return .{
            .seq = event.seq,
            .subscription = event.subscription,
            .change = @fromBackingInt(event.change),
            .reason = @fromBackingInt(event.reason),
            .key = .lift(event.key),
            .uid = event.uid.slice(),
            .resource_version = event.resource_version.slice(),
            .gone = if (event.gone.get()) |gone| @fromBackingInt(gone) else null,
            .coalesced = event.coalesced,
            .attempt = event.attempt,
            .object = abi.optionalSlice(event.object),
            .old = abi.optionalSlice(event.old),
        };
    }
};
