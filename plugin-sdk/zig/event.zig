//! A change of one object, as one subscription sees it.
const std = @import("std");
const abi = @import("abi.zig");
const failure = @import("failure.zig");
const json = @import("json.zig");
const memory = @import("memory.zig");

/// What happened to the object.
pub const Change = enum(u8) { added, updated, deleted };

/// Why the plugin hears of it now.
pub const Reason = enum(u8) {
    /// The object was there before the plugin subscribed.
    initial,
    /// The API server reported it on a watch.
    watch,
    /// A relist found a difference that the watch had missed.
    relist,
    /// The subscription's resync period came round; nothing changed.
    resync,
    /// A new version of the plugin asked for its objects again.
    reload,
    /// Somebody sent a dead letter again: the object's present state.
    redrive,
};

/// What became of an object that the subscription does not have any more.
pub const Gone = enum(u8) {
    /// It was deleted.
    deleted,
    /// It lives on, but no longer matches the subscription.
    left_view,
    /// One of the two.
    unknown,
};

/// Names an object; `namespace` is empty for cluster-scoped ones.
pub const Key = struct {
    namespace: []const u8 = "",
    name: []const u8,

    /// Of `namespace/name`, or of a name alone.
    pub fn parse(key: []const u8) Key {
        const slash = std.mem.indexOfScalar(u8, key, '/') orelse return .{ .name = key };
        return .{ .namespace = key[0..slash], .name = key[slash + 1 ..] };
    }

    /// `{f}` prints `namespace/name`, or the name alone.
    pub fn format(key: Key, writer: *std.Io.Writer) std.Io.Writer.Error!void {
        if (key.namespace.len > 0) try writer.print("{s}/", .{key.namespace});
        try writer.writeAll(key.name);
    }

    /// The same as a text that lives until the call ends.
    pub fn text(key: Key) error{OutOfMemory}![]const u8 {
        return std.fmt.allocPrint(memory.arena, "{f}", .{key});
    }

    pub fn lift(key: abi.Key) Key {
        return .{ .namespace = key.namespace.slice(), .name = key.name.slice() };
    }
};

/// One event. What it points to lives until the call ends.
pub const Event = struct {
    /// Rises with every event; one that comes again keeps its own.
    seq: u64,
    /// The place in the descriptor's list of subscriptions.
    subscription: u32,
    change: Change,
    reason: Reason,
    key: Key,
    uid: []const u8,
    resource_version: []const u8,
    /// Only of a deletion.
    gone: ?Gone,
    /// How many older, undelivered events this one stands for.
    coalesced: u32,
    /// 1 for the first delivery.
    attempt: u32,
    /// JSON of the new state; none if the object was deleted, and with lazy delivery.
    object: ?[]const u8,
    /// JSON of the state before: of a deletion always, else where the subscription says `with_old`.
    old: ?[]const u8,

    /// Reads the object into a struct: the new state, or the last one of an object that is gone. Fields that the struct does not have are passed
    /// over; what it has needs a default where an object may be without.
    pub fn decode(event: Event, comptime T: type) (json.DecodeError || failure.Failed)!T {
        const object = event.object orelse event.old orelse
            return failure.never("the event brought no object; read it with informant.event_data, or subscribe with full delivery", .{});
        return json.decode(T, object);
    }

    /// Reads the state before; null if there is none.
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
