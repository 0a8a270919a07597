//! Objects and events of a test, made from what the test writes.
const std = @import("std");
const abi = @import("../abi.zig");
const events = @import("../event.zig");
const hand = @import("hand.zig");
const json = @import("../json.zig");
const pointers = @import("pointer.zig");
const worlds = @import("world.zig");
const Value = std.json.Value;
const world = &worlds.world;

/// JSON of a text or a value.
pub fn encode(value: anytype) []const u8 {
    return worlds.copy(json.encode(value) catch worlds.noMemory());
}

/// An object as the cache has it. One that is no JSON, or has no name, is a mistake of the test.
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

/// What the descriptor subscribes to, reads and indexes.
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

/// One of a descriptor, and its place there.
pub const Subscription = struct { place: u32, of: Value };

/// The first subscription to a resource.
pub fn subscription(descriptor: Value, resource: []const u8) ?Subscription {
    for (members(descriptor, "/subscriptions"), 0..) |one, i| {
        if (worlds.eql(textAt(one, "/resource").?, resource)) return .{ .place = @intCast(i), .of = one };
    }
    return null;
}

/// The rules by which events of a subscription become keys; null if they are handled.
pub fn rules(of: Value) ?[]const Value {
    const found = members(of, "/enqueue");
    return if (found.len > 0) found else null;
}

/// The key that a rule makes of an object's; null if it takes more than that.
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

/// An event as the host hands it over, in the plugin's memory, with as much of the objects as the subscription asks for.
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
