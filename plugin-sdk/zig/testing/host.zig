//! The host's functions in a test, with the same signatures as those for WebAssembly in `imports.zig`. They use the
//! test's data (`world.zig`).
const std = @import("std");
const abi = @import("../abi.zig");
const cache = @import("cache.zig");
const hand = @import("hand.zig");
const http_types = @import("../http.zig");
const outside = @import("outside.zig");
const pointers = @import("pointer.zig");
const worlds = @import("world.zig");
const Text = abi.Text;
const Result = abi.Result;
const world = &worlds.world;

const Bytes = [*]const u8;

fn some(is_some: u32, ptr: Bytes, len: usize) ?[]const u8 {
    return if (is_some == 0) null else ptr[0..len];
}

pub const event_data = struct {
    pub fn json(side: u32, answer: *abi.Option(Text)) void {
        answer.* = .of(if (of(side)) |object| hand.over(object.json) else null);
    }

    fn of(side: u32) ?worlds.Object {
        return if (side == 0) world.new else world.old;
    }

    pub fn fields(side: u32, asked: [*]const Text, len: usize, answer: *abi.List(abi.Option(Text))) void {
        answer.* = hand.fields(if (of(side)) |object| object.value else .null, asked[0..len]);
    }

    pub fn changed(pointer: Bytes, len: usize) u32 {
        const new = world.new orelse return 1;
        const old = world.old orelse return 1;
        return @intFromBool(pointers.differs(new.value, old.value, pointer[0..len]));
    }
};

pub const indexer = struct {
    const Objects = *Result(abi.Page(Text), abi.Refusal);

    pub fn get(
        gvr: Bytes,
        gvr_len: usize,
        ns: Bytes,
        ns_len: usize,
        name: Bytes,
        name_len: usize,
        answer: *Result(abi.Option(Text), abi.Refusal),
    ) void {
        cache.get(gvr[0..gvr_len], .{ .namespace = ns[0..ns_len], .name = name[0..name_len] }, answer);
    }

    pub fn fields(
        gvr: Bytes,
        gvr_len: usize,
        ns: Bytes,
        ns_len: usize,
        name: Bytes,
        name_len: usize,
        asked: [*]const Text,
        asked_len: usize,
        answer: *Result(abi.Option(abi.List(abi.Option(Text))), abi.Refusal),
    ) void {
        cache.fields(gvr[0..gvr_len], .{ .namespace = ns[0..ns_len], .name = name[0..name_len] }, asked[0..asked_len], answer);
    }

    pub fn list(
        gvr: Bytes,
        gvr_len: usize,
        some_ns: u32,
        ns: Bytes,
        ns_len: usize,
        selector: Bytes,
        selector_len: usize,
        limit: u32,
        more: u32,
        cursor: Bytes,
        cursor_len: usize,
        answer: Objects,
    ) void {
        const what: cache.Listing = .{
            .namespace = some(some_ns, ns, ns_len),
            .selector = selector[0..selector_len],
            .limit = limit,
            .cursor = some(more, cursor, cursor_len),
        };
        cache.list(gvr[0..gvr_len], what, answer);
    }

    pub const @"by-index" = byIndex(Text);
    pub const @"index-keys" = byIndex(abi.Key);

    fn byIndex(comptime Item: type) @TypeOf(Indexed(Item).ask) {
        return Indexed(Item).ask;
    }

    fn Indexed(comptime Item: type) type {
        return struct {
            fn ask(
                gvr: Bytes,
                gvr_len: usize,
                index: Bytes,
                index_len: usize,
                value: Bytes,
                value_len: usize,
                limit: u32,
                more: u32,
                cursor: Bytes,
                cursor_len: usize,
                answer: *Result(abi.Page(Item), abi.Refusal),
            ) void {
                const of = .{ gvr[0..gvr_len], index[0..index_len], value[0..value_len] };
                cache.byIndex(Item, of, limit, some(more, cursor, cursor_len), answer);
            }
        };
    }

    pub fn @"index-values"(
        gvr: Bytes,
        gvr_len: usize,
        index: Bytes,
        index_len: usize,
        limit: u32,
        more: u32,
        cursor: Bytes,
        cursor_len: usize,
        answer: Objects,
    ) void {
        cache.indexValues(gvr[0..gvr_len], index[0..index_len], limit, some(more, cursor, cursor_len), answer);
    }

    pub fn count(gvr: Bytes, gvr_len: usize, some_ns: u32, ns: Bytes, ns_len: usize, answer: *Result(u64, abi.Refusal)) void {
        cache.count(gvr[0..gvr_len], some(some_ns, ns, ns_len), answer);
    }

    pub fn @"has-synced"(gvr: Bytes, gvr_len: usize, answer: *Result(u8, abi.Refusal)) void {
        cache.hasSynced(gvr[0..gvr_len], answer);
    }
};

/// Keys are worked on only when the test asks for it, and time passes only with the test's `wait`.
pub const workqueue = struct {
    pub fn add(key: Bytes, key_len: usize) void {
        world.enqueue(key[0..key_len], 0);
    }

    pub fn @"add-after"(key: Bytes, key_len: usize, ms: u64) void {
        world.enqueue(key[0..key_len], ms);
    }

    pub fn @"add-rate-limited"(key: Bytes, key_len: usize) void {
        world.enqueueRateLimited(key[0..key_len]);
    }

    pub fn forget(key: Bytes, key_len: usize) void {
        _ = world.failures.orderedRemove(key[0..key_len]);
    }

    pub fn @"num-requeues"(key: Bytes, key_len: usize) u32 {
        return world.failures.get(key[0..key_len]) orelse 0;
    }

    pub fn len() u32 {
        var ready: u32 = 0;
        for (world.keys.items) |waiting| ready += @intFromBool(waiting.after_ms == 0);
        return ready;
    }
};

pub const log = struct {
    pub fn enabled(_: u32) u32 {
        return 1;
    }

    /// The level, the message, and the fields as `name=value`.
    pub fn log(level: u32, message: Bytes, len: usize, fields: [*]const abi.Pair, field_count: usize) void {
        const words = [_][]const u8{ "trace", "debug", "info", "warn", "error" };
        var line = worlds.print("{s} {s}", .{ words[level], message[0..len] });
        for (fields[0..field_count]) |field| line = worlds.print("{s} {s}={s}", .{ line, field.first.slice(), field.second.slice() });
        world.lines.append(worlds.memory, line) catch worlds.noMemory();
    }
};

pub const metrics = struct {
    const Done = *Result(abi.Nothing, Text);

    pub fn @"counter-add"(name: Bytes, name_len: usize, labels: [*]const abi.Pair, len: usize, value: f64, answer: Done) void {
        if (value < 0) return hand.refuse(answer, hand.over("a counter takes nothing negative"));
        add(name[0..name_len], labels[0..len], value, answer);
    }

    pub fn @"gauge-set"(name: Bytes, name_len: usize, labels: [*]const abi.Pair, len: usize, value: f64, answer: Done) void {
        if (series(name[0..name_len], labels[0..len], value, answer)) |of| of.* = value;
    }

    /// A test sees the sum.
    pub fn @"histogram-observe"(name: Bytes, name_len: usize, labels: [*]const abi.Pair, len: usize, value: f64, answer: Done) void {
        add(name[0..name_len], labels[0..len], value, answer);
    }

    fn add(name: []const u8, labels: []const abi.Pair, value: f64, answer: Done) void {
        if (series(name, labels, value, answer)) |of| of.* += value;
    }

    fn series(name: []const u8, labels: []const abi.Pair, value: f64, answer: Done) ?*f64 {
        if (!std.math.isFinite(value)) {
            hand.refuse(answer, hand.over("a value is finite"));
            return null;
        }
        hand.answer(answer, 0);
        var text = worlds.print("{s}{{", .{name});
        for (labels, 0..) |label, i| {
            text = worlds.print("{s}{s}{s}={s}", .{ text, if (i > 0) "," else "", label.first.slice(), label.second.slice() });
        }
        const entry = world.series.getOrPutValue(worlds.memory, worlds.print("{s}}}", .{text}), 0) catch worlds.noMemory();
        return entry.value_ptr;
    }
};

pub const state = struct {
    pub fn get(key: Bytes, len: usize, answer: *Result(abi.Option(Text), Text)) void {
        const found = world.state.get(key[0..len]);
        hand.answer(answer, .of(if (found) |value| hand.over(value) else null));
    }

    pub fn set(key: Bytes, len: usize, is_some: u32, value: Bytes, value_len: usize, answer: *Result(abi.Nothing, Text)) void {
        if (len == 0 or len > 512) return hand.refuse(answer, hand.over("keys have 1 to 512 bytes"));
        keep(key[0..len], some(is_some, value, value_len));
        hand.answer(answer, 0);
    }

    fn keep(key: []const u8, value: ?[]const u8) void {
        if (value) |new| {
            world.state.put(worlds.memory, worlds.copy(key), worlds.copy(new)) catch worlds.noMemory();
        } else _ = world.state.orderedRemove(key);
    }

    pub fn @"compare-and-set"(
        key: Bytes,
        len: usize,
        expects: u32,
        expected: Bytes,
        expected_len: usize,
        is_some: u32,
        value: Bytes,
        value_len: usize,
        answer: *Result(u8, Text),
    ) void {
        const found = world.state.get(key[0..len]);
        const wanted = some(expects, expected, expected_len);
        const is_so = if (found) |one| wanted != null and worlds.eql(one, wanted.?) else wanted == null;
        if (is_so) keep(key[0..len], some(is_some, value, value_len));
        hand.answer(answer, @intFromBool(is_so));
    }

    pub fn keys(prefix: Bytes, len: usize, answer: *Result(abi.List(Text), Text)) void {
        var found: std.ArrayList([]const u8) = .empty;
        for (world.state.keys()) |key| {
            if (std.mem.startsWith(u8, key, prefix[0..len])) found.append(worlds.memory, key) catch worlds.noMemory();
        }
        std.mem.sort([]const u8, found.items, {}, isBefore);
        const list = hand.room(Text, found.items.len);
        for (list, found.items) |*place, key| place.* = hand.over(key);
        hand.answer(answer, .of(list));
    }

    fn isBefore(_: void, a: []const u8, b: []const u8) bool {
        return std.mem.lessThan(u8, a, b);
    }
};

pub const kube = outside.kube;
pub const http = outside.http;

pub const host_info = struct {
    pub fn @"is-leader"() u32 {
        return 1;
    }

    pub fn @"plugin-name"(answer: *Text) void {
        answer.* = hand.over("test");
    }

    pub fn shard(answer: *[2]u32) void {
        answer.* = .{ 0, 1 };
    }

    pub fn @"host-version"(answer: *Text) void {
        answer.* = hand.over("test");
    }
};
