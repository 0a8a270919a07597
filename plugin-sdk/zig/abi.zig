//! The values of the canonical ABI that the contract uses: lists, options, results and records in their memory layout.
//! On wasm32 an `extern struct` has exactly that layout, which is asserted below. In native builds, for tests, it has
//! the width of native pointers.
const std = @import("std");
const builtin = @import("builtin");
const memory = @import("memory.zig");

/// A list or a text: its address and the number of its elements.
pub fn List(comptime T: type) type {
    return extern struct {
        ptr: [*]const T,
        len: usize,

        /// Converts `items`, which are not copied, to the host's format. An empty list also needs an aligned address.
        pub fn of(items: []const T) @This() {
            return .{ .ptr = if (items.len == 0) @ptrFromInt(@alignOf(T)) else items.ptr, .len = items.len };
        }

        pub fn slice(list: @This()) []const T {
            return list.ptr[0..list.len];
        }
    };
}

/// UTF-8, or bytes.
pub const Text = List(u8);

/// An optional value.
pub fn Option(comptime T: type) type {
    return extern struct {
        is_some: u8,
        value: T,

        pub fn of(value: ?T) @This() {
            return .{ .is_some = @intFromBool(value != null), .value = value orelse undefined };
        }

        pub fn get(option: @This()) ?T {
            return if (option.is_some == 0) null else option.value;
        }
    };
}

/// An answer or an error. If the contract has no answer, its type is `Nothing`.
pub fn Result(comptime T: type, comptime E: type) type {
    return extern struct {
        is_error: u8,
        with: extern union { answer: T, err: E },
    };
}

/// The type of a missing value.
pub const Nothing = u8;

/// The key of an object.
pub const Key = extern struct { namespace: Text, name: Text };

/// A tuple of two texts.
pub const Pair = extern struct { first: Text, second: Text };

/// `handler.event`.
pub const Event = extern struct {
    seq: u64,
    subscription: u32,
    change: u8,
    reason: u8,
    key: Key,
    uid: Text,
    resource_version: Text,
    gone: Option(u8),
    coalesced: u32,
    attempt: u32,
    object: Option(Text),
    old: Option(Text),
};

/// `types.failure`. `retry` is the number of a case.
pub const Failure = extern struct {
    message: Text,
    retry: extern struct { case: u8, after_ms: u64 },
};

/// A page of `indexer`.
pub fn Page(comptime T: type) type {
    return extern struct { items: List(T), next: Option(Text) };
}

/// `indexer.error` and `http.error`: a case, and a text for most cases.
pub const Refusal = extern struct { case: u8, text: Text };

/// `kube.error`.
pub const WriteRefusal = extern struct {
    case: u8,
    with: extern union {
        text: Text,
        status: extern struct { code: u16, reason: Text, message: Text, retry_after_ms: Option(u64) },
    },
};

/// `http.response`.
pub const Response = extern struct { status: u16, headers: List(Pair), body: Text };

/// Converts texts to the host's format, in memory of the call.
pub fn texts(all: []const []const u8) error{OutOfMemory}!List(Text) {
    const list = try memory.arena.alloc(Text, all.len);
    for (list, all) |*place, text| place.* = .of(text);
    return .of(list);
}

/// Converts texts from the host's format.
pub fn slices(list: List(Text)) error{OutOfMemory}![]const []const u8 {
    const all = try memory.arena.alloc([]const u8, list.len);
    for (all, list.slice()) |*place, text| place.* = text.slice();
    return all;
}

/// An optional text as two parameters of an import, and whether it exists.
pub const Optional = struct {
    is_some: u32,
    text: Text,

    pub fn of(text: ?[]const u8) Optional {
        return .{ .is_some = @intFromBool(text != null), .text = .of(text orelse "") };
    }
};

/// Converts optional texts from the host's format.
pub fn optionalSlices(list: List(Option(Text))) error{OutOfMemory}![]const ?[]const u8 {
    const all = try memory.arena.alloc(?[]const u8, list.len);
    for (all, list.slice()) |*place, text| place.* = optionalSlice(text);
    return all;
}

pub fn optionalSlice(text: Option(Text)) ?[]const u8 {
    return if (text.get()) |some| some.slice() else null;
}

fn assertLayout(comptime T: type, size: usize, comptime offsets: anytype) void {
    std.debug.assert(@sizeOf(T) == size);
    for (@typeInfo(@TypeOf(offsets)).@"struct".field_names) |field| {
        std.debug.assert(@offsetOf(T, field) == @field(offsets, field));
    }
}

comptime {
    // plugin-sdk/reference.md, "Types in memory".
    if (builtin.cpu.arch == .wasm32) {
        assertLayout(Event, 88, .{ .key = 16, .resource_version = 40, .gone = 48, .attempt = 56, .object = 60, .old = 72 });
        assertLayout(Failure, 24, .{ .retry = 8 });
        assertLayout(Result(Nothing, Failure), 32, .{ .with = 8 });
        assertLayout(Result(Option(u64), Failure), 32, .{ .with = 8 });
        assertLayout(Result(Text, Text), 12, .{ .with = 4 });
        assertLayout(Page(Text), 20, .{ .next = 8 });
        assertLayout(Refusal, 12, .{ .text = 4 });
        assertLayout(WriteRefusal, 48, .{ .with = 8 });
        assertLayout(Response, 20, .{ .headers = 4, .body = 12 });
    }
}
