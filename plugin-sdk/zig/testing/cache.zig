//! The cache of a test: `indexer` over the objects of the test, in the order of keys. Selectors have the form
//! `a=b,c=d`; other forms of kubectl are refused.
const std = @import("std");
const abi = @import("../abi.zig");
const events = @import("../event.zig");
const hand = @import("hand.zig");
const pointers = @import("pointer.zig");
const worlds = @import("world.zig");
const Key = events.Key;
const Text = abi.Text;
const world = &worlds.world;

/// The same page size as in the host.
const page_size = 500;

const Case = enum(u8) { not_granted, unknown_resource, unknown_index, not_synced, expired, invalid };

/// The reason why a resource cannot be read. Null if it can.
fn refusal(resource: []const u8) ?abi.Refusal {
    for (world.readable.items) |one| if (worlds.eql(one, resource)) return null;
    return refuse(.not_granted, "the descriptor neither subscribes to {s} nor reads it", .{resource});
}

fn refuse(case: Case, comptime format: []const u8, args: anytype) abi.Refusal {
    return .{ .case = @backingInt(case), .text = hand.over(worlds.print(format, args)) };
}

pub fn get(resource: []const u8, key: Key, answer: *abi.Result(abi.Option(Text), abi.Refusal)) void {
    if (refusal(resource)) |said| return hand.refuse(answer, said);
    const place = world.find(resource, key) orelse return absent(resource, answer);
    hand.answer(answer, .of(hand.over(world.objects.items[place].json)));
}

/// An absent object may exist before the first list is complete.
fn absent(resource: []const u8, answer: anytype) void {
    for (world.unsynced.items) |one| if (worlds.eql(one, resource))
        return hand.refuse(answer, refuse(.not_synced, "the first list of {s} is not complete", .{resource}));
    hand.answer(answer, .of(null));
}

pub fn fields(
    resource: []const u8,
    key: Key,
    asked: []const Text,
    answer: *abi.Result(abi.Option(abi.List(abi.Option(Text))), abi.Refusal),
) void {
    if (refusal(resource)) |said| return hand.refuse(answer, said);
    if (asked.len > 256) return hand.refuse(answer, refuse(.invalid, "{d} pointers are more than 256", .{asked.len}));
    const place = world.find(resource, key) orelse return absent(resource, answer);
    hand.answer(answer, .of(hand.fields(world.objects.items[place].value, asked)));
}

/// The options of a list.
pub const Listing = struct { namespace: ?[]const u8, selector: []const u8, limit: u32, cursor: ?[]const u8 };

pub fn list(resource: []const u8, what: Listing, answer: *abi.Result(abi.Page(Text), abi.Refusal)) void {
    if (refusal(resource)) |said| return hand.refuse(answer, said);
    var found: std.ArrayList(Text) = .empty;
    for (world.objects.items) |object| {
        if (!worlds.eql(object.resource, resource)) continue;
        if (what.namespace) |namespace| if (!worlds.eql(namespace, object.key.namespace)) continue;
        const is_selected = selects(what.selector, object) orelse
            return hand.refuse(answer, refuse(.invalid, "tests know selectors of the form a=b,c=d, not {s}", .{what.selector}));
        if (is_selected) found.append(worlds.memory, .of(object.json)) catch worlds.noMemory();
    }
    page(Text, found.items, what.limit, what.cursor, answer);
}

/// Null for an unsupported selector.
fn selects(selector: []const u8, object: worlds.Object) ?bool {
    var parts = std.mem.tokenizeScalar(u8, selector, ',');
    var all = true;
    while (parts.next()) |part| {
        const equals = std.mem.indexOfScalar(u8, part, '=') orelse return null;
        if (std.mem.indexOfAny(u8, part, "!() ") != null) return null;
        const wanted = std.mem.trimStart(u8, part[equals + 1 ..], "=");
        const labels = pointers.at(object.value, "/metadata/labels") orelse .null;
        const label = if (labels == .object) labels.object.get(part[0..equals]) orelse .null else .null;
        all = all and label == .string and worlds.eql(label.string, wanted);
    }
    return all;
}

/// The objects that an index has for a value. Null if the index does not exist.
fn indexed(resource: []const u8, index: []const u8, value: []const u8) ?[]const worlds.Object {
    var found: std.ArrayList(worlds.Object) = .empty;
    for (world.objects.items) |object| {
        if (!worlds.eql(object.resource, resource)) continue;
        for (world.valuesOf(resource, index, object) orelse return null) |one| {
            if (worlds.eql(one, value)) break found.append(worlds.memory, object) catch worlds.noMemory();
        }
    }
    return if (hasIndex(resource, index)) found.items else null;
}

fn hasIndex(resource: []const u8, index: []const u8) bool {
    for (world.indexes.items) |one| if (worlds.eql(one.resource, resource) and worlds.eql(one.name, index)) return true;
    return false;
}

/// One page of objects or keys.
pub fn byIndex(
    comptime Item: type,
    of: [3][]const u8,
    limit: u32,
    cursor: ?[]const u8,
    answer: *abi.Result(abi.Page(Item), abi.Refusal),
) void {
    if (refusal(of[0])) |said| return hand.refuse(answer, said);
    const objects = indexed(of[0], of[1], of[2]) orelse return hand.refuse(answer, refuse(.unknown_index, "{s}", .{of[1]}));
    const items = worlds.memory.alloc(Item, objects.len) catch worlds.noMemory();
    for (items, objects) |*item, object| item.* = if (Item == Text)
        .of(object.json)
    else
        .{ .namespace = .of(object.key.namespace), .name = .of(object.key.name) };
    page(Item, items, limit, cursor, answer);
}

pub fn indexValues(
    resource: []const u8,
    index: []const u8,
    limit: u32,
    cursor: ?[]const u8,
    answer: *abi.Result(abi.Page(Text), abi.Refusal),
) void {
    if (refusal(resource)) |said| return hand.refuse(answer, said);
    if (!hasIndex(resource, index)) return hand.refuse(answer, refuse(.unknown_index, "{s}", .{index}));
    var values: std.array_hash_map.String(void) = .empty;
    for (world.objects.items) |object| {
        if (!worlds.eql(object.resource, resource)) continue;
        for (world.valuesOf(resource, index, object).?) |value| values.put(worlds.memory, value, {}) catch worlds.noMemory();
    }
    const sorted = worlds.memory.dupe([]const u8, values.keys()) catch worlds.noMemory();
    std.mem.sort([]const u8, sorted, {}, isBefore);
    const items = worlds.memory.alloc(Text, sorted.len) catch worlds.noMemory();
    for (items, sorted) |*item, value| item.* = .of(value);
    page(Text, items, limit, cursor, answer);
}

fn isBefore(_: void, a: []const u8, b: []const u8) bool {
    return std.mem.lessThan(u8, a, b);
}

/// The part of `items` on a page. Its cursor is the number of items before the next page.
fn page(comptime Item: type, items: []const Item, limit: u32, cursor: ?[]const u8, answer: *abi.Result(abi.Page(Item), abi.Refusal)) void {
    const start = if (cursor) |text| std.fmt.parseInt(usize, text, 10) catch
        return hand.refuse(answer, refuse(.invalid, "{s} is no cursor", .{text})) else 0;
    const size = if (limit == 0) page_size else @min(limit, 1000);
    const end = @min(items.len, start + size);
    const next = if (end < items.len) hand.over(worlds.print("{d}", .{end})) else null;
    const room = hand.room(Item, end - @min(start, end));
    for (room, items[end - room.len .. end]) |*place, item| place.* = if (Item == Text)
        hand.over(item.slice())
    else
        .{ .namespace = hand.over(item.namespace.slice()), .name = hand.over(item.name.slice()) };
    hand.answer(answer, .{ .items = .of(room), .next = .of(next) });
}

pub fn count(resource: []const u8, namespace: ?[]const u8, answer: *abi.Result(u64, abi.Refusal)) void {
    if (refusal(resource)) |said| return hand.refuse(answer, said);
    var found: u64 = 0;
    for (world.objects.items) |object| {
        const is_there = namespace == null or worlds.eql(namespace.?, object.key.namespace);
        if (worlds.eql(object.resource, resource) and is_there) found += 1;
    }
    hand.answer(answer, found);
}

pub fn hasSynced(resource: []const u8, answer: *abi.Result(u8, abi.Refusal)) void {
    if (refusal(resource)) |said| return hand.refuse(answer, said);
    for (world.unsynced.items) |one| if (worlds.eql(one, resource)) return hand.answer(answer, 0);
    hand.answer(answer, 1);
}
