//! The objects of the present event, read on the host: one field costs a fraction of the whole object. For
//! subscriptions with lazy delivery, and only inside `handle`.
const std = @import("std");
const abi = @import("abi.zig");
const host = @import("imports.zig").host.event_data;
const jsons = @import("json.zig");

/// An addition has no old state, and a deletion has no new one.
pub const Side = enum(u8) { new, old };

/// The whole object; only its metadata with the delivery `metadata`. Null if there is no object on that side.
pub fn json(side: Side) ?[]const u8 {
    var answer: abi.Option(abi.Text) = undefined;
    host.json(@backingInt(side), &answer);
    return abi.optionalSlice(answer);
}

/// Decodes the whole object into a struct.
pub fn decode(comptime T: type, side: Side) jsons.DecodeError!?T {
    return try jsons.decode(T, json(side) orelse return null);
}

/// The JSON value at each of these JSON pointers, or null. Up to 256 pointers: more pointers end the call.
pub fn fields(side: Side, pointers: []const []const u8) error{OutOfMemory}![]const ?[]const u8 {
    const asked = try abi.texts(pointers);
    var answer: abi.List(abi.Option(abi.Text)) = undefined;
    host.fields(@backingInt(side), asked.ptr, asked.len, &answer);
    return abi.optionalSlices(answer);
}

/// The value at a JSON pointer, or null. `field([]const u8, .new, "/spec/nodeName")` is a text.
pub fn field(comptime T: type, side: Side, pointer: []const u8) jsons.DecodeError!?T {
    const found = try fields(side, &.{pointer});
    return try jsons.decode(T, found[0] orelse return null);
}

/// Whether the value at the JSON pointer differs between the two objects. Always true if there is only one of them.
pub fn changed(pointer: []const u8) bool {
    const text: abi.Text = .of(pointer);
    return host.changed(text.ptr, text.len) != 0;
}
