//! Objects and events of a test, from the test's data.
const std = @import("std");
const abi = @import("../abi.zig");
const events = @import("../event.zig");
const hand = @import("hand.zig");
const json = @import("../json.zig");
const pointers = @import("pointer.zig");
const worlds = @import("world.zig");
const Value = std.json.Value;
const world = &worlds.world;

/// The JSON of a text or a value.
pub fn encode(value: anytype) []const u8 {
    return worlds.copy(json.encode(value) catch worlds.noMemory());
}

/// An object in the cache's form. An object without valid JSON or without a name is a mistake in the test.
pub fn parse(resource: []const u8, object: anytype) worlds.Object {
    const text = encode(object);
    const value = std.json.parseFromSliceLeaky(Value, worlds.memory, text, .{}) catch |err|
        std.debug.panic("an object of a test is no JSON ({t}): {s}", .{ err, text });
    const name = textAt(value, "/metadata/name") orelse std.debug.panic("an object of a test has no metadata.name: {s}", .{text});
    const key: events.Key = .{ .namespace = textAt(value, "/metadata/namespace") orelse "", .name = name };
    return .{ .resource = worlds.copy(resource), .key = key, .json = text, .value = value };
}

fn textAt(value: Value, pointer: []const u8) ?[]const u8 {
    const found = pointers.at(value, pointer) orelse return null;
    return if (found == .string) found.string else null;
}

/// Grants the subscriptions, reads and indexes of the descriptor.
pub fn grant(descriptor: Value) void {
    for ([_][]const u8{ "/subscriptions", "/reads" }) |list| for (members(descriptor, list)) |one| {
        world.readable.append(worlds.memory, textAt(one, "/resource").?) catch worlds.noMemory();
    };
    for (members(descriptor, "/indexes")) |one| {
        const index: worlds.Index = .{
            .resource = textAt(one, "/resource").?,
            .name = textAt(one, "/name").?,
            .pointer = textAt(one, "/pointer").?,
        };
        world.indexes.append(worlds.memory, index) catch worlds.noMemory();
    }
}

fn members(value: Value, pointer: []const u8) []const Value {
    const list = pointers.at(value, pointer) orelse return &.{};
    return list.array.items;
}

/// A subscription of a descriptor, with its index.
pub const Subscription = struct { place: u32, of: Value };

/// The first subscription to a resource.
pub fn subscription(descriptor: Value, resource: []const u8) ?Subscription {
    for (members(descriptor, "/subscriptions"), 0..) |one, i| {
        if (worlds.eql(textAt(one, "/resource").?, resource)) return .{ .place = @intCast(i), .of = one };
    }
    return null;
}

/// Whether a subscription to the object has the change: by its `types`, and of an update by `onlyIfChanged`.
pub fn isWanted(of: Value, change: events.Change, new: ?worlds.Object, old: ?worlds.Object) bool {
    const types = members(of, "/types");
    for (types) |one| {
        if (worlds.eql(one.string, @tagName(change))) break;
    } else if (types.len > 0) return false;
    const only = members(of, "/onlyIfChanged");
    if (change != .updated or only.len == 0) return true;
    for (only) |pointer| if (pointers.differs(new.?.value, old.?.value, pointer.string)) return true;
    return false;
}

/// The rules that make keys from events of a subscription. Null if `handle` gets the events.
pub fn rules(of: Value) ?[]const Value {
    const found = members(of, "/enqueue");
    return if (found.len > 0) found else null;
}

/// The key that a rule makes from an object's key. Null if the rule needs more than the key.
pub fn keyBy(rule: Value, key: events.Key) ?[]const u8 {
    if (pointers.at(rule, "/self") == null) return null;
    const namespace = textAt(rule, "/namespace") orelse "object";
    const prefix = textAt(rule, "/prefix") orelse "";
    if (worlds.eql(namespace, "object")) return worlds.print("{s}{f}", .{ prefix, key });
    return if (worlds.eql(namespace, "none")) worlds.print("{s}{s}", .{ prefix, key.name }) else null;
}

pub fn hasSchedule(descriptor: Value, name: []const u8) bool {
    for (members(descriptor, "/schedules")) |one| if (worlds.eql(textAt(one, "/name").?, name)) return true;
    return false;
}

/// An event in the plugin's memory, with the parts of the objects that the subscription delivers.
pub fn event(to: Subscription, seq: u64, change: events.Change, new: ?worlds.Object, old: ?worlds.Object) abi.Event {
    const object = new orelse old.?;
    const delivery = textAt(to.of, "/delivery") orelse "full";
    const with_old = change == .deleted or pointers.at(to.of, "/withOld") != null;
    return .{
        .seq = seq,
        .subscription = to.place,
        .change = @backingInt(change),
        .reason = @backingInt(events.Reason.watch),
        .key = .{ .namespace = hand.over(object.key.namespace), .name = hand.over(object.key.name) },
        .uid = hand.over(textAt(object.value, "/metadata/uid") orelse ""),
        .resource_version = hand.over(worlds.print("{d}", .{seq})),
        .gone = .of(if (change == .deleted) @backingInt(events.Gone.deleted) else null),
        .coalesced = 0,
        .attempt = 1,
        .object = delivered(new, delivery),
        .old = delivered(if (with_old) old else null, delivery),
    };
}

fn delivered(object: ?worlds.Object, delivery: []const u8) abi.Option(abi.Text) {
    const one = object orelse return .of(null);
    if (worlds.eql(delivery, "lazy")) return .of(null);
    if (worlds.eql(delivery, "full")) return .of(hand.over(one.json));
    const members_of = one.value.object;
    const metadata = .{
        .apiVersion = members_of.get("apiVersion"),
        .kind = members_of.get("kind"),
        .metadata = members_of.get("metadata"),
    };
    return .of(hand.over(worlds.jsonOf(metadata)));
}
