//! The data of a test: a cache that the test can fill, a log that it can read, and answers to writes and requests.
//! There is one at a time.
const std = @import("std");
const events = @import("../event.zig");
const http = @import("../http.zig");
const kube = @import("../kube.zig");
const pointers = @import("pointer.zig");
const Key = events.Key;

/// An object of the cache, or of an event.
pub const Object = struct { resource: []const u8, key: Key, json: []const u8, value: std.json.Value };

pub const Index = struct { resource: []const u8, name: []const u8, pointer: []const u8 };

/// A key of the queue, and its wait: 0 if it is due.
pub const Waiting = struct { key: []const u8, after_ms: u64 = 0 };

/// A write of a plugin. `verb` is `create`, `update`, `patch`, `delete` or `record-event`; `body` is the sent body.
pub const Write = struct {
    verb: []const u8,
    object: kube.Object,
    body: []const u8,
    /// Only for a patch.
    patch_type: ?kube.PatchType = null,
};

/// The answer to a write.
pub const WriteAnswer = union(enum) {
    object: []const u8,
    status: kube.Status,
    not_granted: []const u8,
    not_leader,
    invalid: []const u8,
    no_answer: []const u8,
};

/// The answer to a request. A refusal has a text.
pub const Answer = union(enum) {
    response: http.Response,
    not_granted: []const u8,
    not_leader,
    invalid: []const u8,
    timed_out: []const u8,
    too_large: []const u8,
    no_answer: []const u8,
};

const Map = std.array_hash_map.String;

pub const World = struct {
    objects: std.ArrayList(Object) = .empty,
    /// The resources that the descriptor subscribes to or reads.
    readable: std.ArrayList([]const u8) = .empty,
    indexes: std.ArrayList(Index) = .empty,
    /// Resources whose first list is not complete.
    unsynced: std.ArrayList([]const u8) = .empty,
    lines: std.ArrayList([]const u8) = .empty,
    keys: std.ArrayList(Waiting) = .empty,
    failures: Map(u32) = .empty,
    state: Map([]const u8) = .empty,
    /// Metrics by name and labels: `seen_total{app=x}`.
    series: Map(f64) = .empty,
    new: ?Object = null,
    old: ?Object = null,
    answer_write: ?*const fn (Write) WriteAnswer = null,
    writes: std.ArrayList(Write) = .empty,
    answer_request: ?*const fn (http.Request) Answer = null,
    requests: std.ArrayList(http.Request) = .empty,

    /// The position of an object in the cache.
    pub fn find(self: *World, resource: []const u8, key: Key) ?usize {
        for (self.objects.items, 0..) |object, i| if (eql(object.resource, resource) and same(object.key, key)) return i;
        return null;
    }

    /// Puts an object into the cache, in the order of keys.
    pub fn put(self: *World, object: Object) void {
        if (self.find(object.resource, object.key)) |place| {
            self.objects.items[place] = object;
            return;
        }
        var place: usize = 0;
        while (place < self.objects.items.len and before(self.objects.items[place].key, object.key)) place += 1;
        self.objects.insert(memory, place, object) catch noMemory();
    }

    pub fn remove(self: *World, resource: []const u8, key: Key) void {
        if (self.find(resource, key)) |place| _ = self.objects.orderedRemove(place);
    }

    /// Adds a key. A key is due once, and delayed once: of several times the earliest counts.
    pub fn enqueue(self: *World, key: []const u8, after_ms: u64) void {
        for (self.keys.items) |*waiting| if (eql(waiting.key, key) and (waiting.after_ms == 0) == (after_ms == 0)) {
            waiting.after_ms = @min(waiting.after_ms, after_ms);
            return;
        };
        self.keys.append(memory, .{ .key = copy(key), .after_ms = after_ms }) catch noMemory();
    }

    /// A millisecond, doubled with every failure of the key.
    pub fn enqueueRateLimited(self: *World, key: []const u8) void {
        const entry = self.failures.getOrPutValue(memory, copy(key), 0) catch noMemory();
        self.enqueue(key, @as(u64, 1) << @intCast(@min(entry.value_ptr.*, 20)));
        entry.value_ptr.* += 1;
    }

    /// Lets time pass. The keys that are due by then follow in the order of their times.
    pub fn wait(self: *World, ms: u64) void {
        const delayed = self.keys.toOwnedSlice(memory) catch noMemory();
        std.mem.sort(Waiting, delayed, ms, comesBefore);
        for (delayed) |waiting| self.enqueue(waiting.key, waiting.after_ms -| ms);
    }

    /// Due keys keep their order, and so do those that stay delayed.
    fn comesBefore(ms: u64, one: Waiting, other: Waiting) bool {
        return one.after_ms < other.after_ms and one.after_ms <= ms;
    }

    /// The texts that an index has for an object.
    pub fn valuesOf(self: *World, resource: []const u8, index: []const u8, object: Object) ?[]const []const u8 {
        const pointer = for (self.indexes.items) |one| {
            if (eql(one.resource, resource) and eql(one.name, index)) break one.pointer;
        } else return null;
        var found: std.ArrayList(std.json.Value) = .empty;
        pointers.all(memory, object.value, pointer, &found) catch noMemory();
        const texts = memory.alloc([]const u8, found.items.len) catch noMemory();
        for (texts, found.items) |*text, value| text.* = if (value == .string) value.string else jsonOf(value);
        return texts;
    }
};

pub var world: World = .{};
var arena: std.heap.ArenaAllocator = .init(std.heap.page_allocator);
/// For memory that lives until the end of the test's host.
pub const memory = arena.allocator();

/// Forgets everything.
pub fn reset() void {
    world = .{};
    _ = arena.reset(.free_all);
}

pub fn copy(text: []const u8) []const u8 {
    return memory.dupe(u8, text) catch noMemory();
}

pub fn print(comptime format: []const u8, args: anytype) []const u8 {
    return std.fmt.allocPrint(memory, format, args) catch noMemory();
}

pub fn jsonOf(value: anytype) []const u8 {
    return std.json.Stringify.valueAlloc(memory, value, .{ .emit_null_optional_fields = false }) catch noMemory();
}

pub fn eql(a: []const u8, b: []const u8) bool {
    return std.mem.eql(u8, a, b);
}

fn same(a: Key, b: Key) bool {
    return eql(a.namespace, b.namespace) and eql(a.name, b.name);
}

fn before(a: Key, b: Key) bool {
    return switch (std.mem.order(u8, a.namespace, b.namespace)) {
        .lt => true,
        .gt => false,
        .eq => std.mem.lessThan(u8, a.name, b.name),
    };
}

pub fn noMemory() noreturn {
    @panic("a test has no memory left");
}
