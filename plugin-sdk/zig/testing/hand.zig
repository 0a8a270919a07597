//! The answers of a test's host, in memory that it gets from the plugin, as with every host.
const std = @import("std");
const abi = @import("../abi.zig");
const memory = @import("../memory.zig");
const pointers = @import("pointer.zig");
const worlds = @import("world.zig");
const Text = abi.Text;

/// A text in the plugin's memory.
pub fn over(text: []const u8) Text {
    const place = room(u8, text.len);
    @memcpy(place, text);
    return .of(place);
}

/// Memory for a list in the plugin's memory.
pub fn room(comptime T: type, len: usize) []T {
    const block = memory.realloc(null, 0, @alignOf(T), len * @sizeOf(T));
    return @as([*]T, @ptrCast(@alignCast(block)))[0..len];
}

pub fn answer(into: anytype, value: @FieldType(@FieldType(@typeInfo(@TypeOf(into)).pointer.child, "with"), "answer")) void {
    into.* = .{ .is_error = 0, .with = .{ .answer = value } };
}

pub fn refuse(into: anytype, err: @FieldType(@FieldType(@typeInfo(@TypeOf(into)).pointer.child, "with"), "err")) void {
    into.* = .{ .is_error = 1, .with = .{ .err = err } };
}

/// The JSON values of an object at pointers.
pub fn fields(value: std.json.Value, asked: []const Text) abi.List(abi.Option(Text)) {
    const list = room(abi.Option(Text), asked.len);
    for (list, asked) |*place, pointer| {
        const found = pointers.at(value, pointer.slice());
        place.* = .of(if (found) |one| over(worlds.jsonOf(one)) else null);
    }
    return .of(list);
}
