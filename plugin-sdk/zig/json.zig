//! JSON into Zig's values and back, by `std.json`, with errors that say where.
const std = @import("std");
const failure = @import("failure.zig");
const memory = @import("memory.zig");

pub const DecodeError = std.json.ParseError(std.json.Scanner);

/// Reads a struct with the fields that matter; others are passed over. A field needs a default where the object may not have it. Texts lie in the
/// object itself where they can, so what is read lives as long as that: until the call ends.
pub fn decode(comptime T: type, text: []const u8) DecodeError!T {
    return decodeWith(T, text, memory.arena, .{ .ignore_unknown_fields = true }, "the JSON", .backoff);
}

/// The same in memory of `informant.allocator`, for what is to stay.
pub fn keep(comptime T: type, text: []const u8) DecodeError!T {
    const options: std.json.ParseOptions = .{ .ignore_unknown_fields = true, .allocate = .alloc_always };
    return decodeWith(T, text, memory.allocator, options, "the JSON", .backoff);
}

/// The same with other options; `what` names the text where it does not fit. Some 60 bytes of it are in the error's words then.
pub fn decodeWith(
    comptime T: type,
    text: []const u8,
    allocator: std.mem.Allocator,
    options: std.json.ParseOptions,
    what: []const u8,
    retry: failure.Retry,
) DecodeError!T {
    var scanner: std.json.Scanner = .initCompleteInput(memory.arena, text);
    defer scanner.deinit();
    var place: std.json.Diagnostics = .{};
    scanner.enableDiagnostics(&place);
    return std.json.parseFromTokenSourceLeaky(T, allocator, &scanner, options) catch |err| {
        const hint = if (err == error.UnknownField) comptime "; its keys are " ++ keysOf(T) else "";
        const format = "{s} does not fit {s}: {t} before line {d}, column {d}{s}; it is near {s}";
        const near = around(text, place.getByteOffset());
        return failure.note(err, retry, format, .{ what, @typeName(T), err, place.getLine(), place.getColumn(), hint, near });
    };
}

/// So much is shown of the JSON before and after the place at which it does not fit: the key is before, the value begins there.
const shown_before = 40;
const shown_after = 20;

/// The text around a place in JSON, on one line.
fn around(text: []const u8, place: u64) []const u8 {
    const end = @min(text.len, place +| shown_after);
    var start = @min(text.len, place) -| shown_before;
    // Not from within a letter.
    while (start < end and text[start] & 0xc0 == 0x80) start += 1;
    var stop = end;
    while (stop < text.len and stop > start and text[stop] & 0xc0 == 0x80) stop -= 1;
    const before, const after = .{ if (start > 0) "..." else "", if (stop < text.len) "..." else "" };
    const shown = std.mem.concat(memory.call, u8, &.{ before, text[start..stop], after }) catch return "a place for which there is no memory";
    for (shown) |*letter| if (std.ascii.isControl(letter.*)) {
        letter.* = ' ';
    };
    return shown;
}

/// The fields of a struct, for people.
fn keysOf(comptime T: type) []const u8 {
    if (@typeInfo(T) != .@"struct") return "others";
    var keys: []const u8 = "";
    for (@typeInfo(T).@"struct".field_names, 0..) |name, i| keys = keys ++ (if (i > 0) ", " else "") ++ name;
    return keys;
}

/// The JSON of a value; of a text, the text itself, which is JSON then. Optional fields that are null are left out.
pub fn encode(value: anytype) error{OutOfMemory}![]const u8 {
    const T = @TypeOf(value);
    if (comptime isText(T)) return value;
    // `.{}` is an object without members; Zig cannot tell it from a tuple.
    if (T == @TypeOf(.{})) return "{}";
    return std.json.Stringify.valueAlloc(memory.arena, value, .{ .emit_null_optional_fields = false });
}

pub fn isText(comptime T: type) bool {
    const info = switch (@typeInfo(T)) {
        .pointer => |info| info,
        else => return false,
    };
    return switch (info.size) {
        .slice => info.child == u8,
        .one => switch (@typeInfo(info.child)) {
            .array => |array| array.child == u8,
            else => false,
        },
        else => false,
    };
}
