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

/// The same with other options; `what` names the text where it does not fit. The key before the place is in the error's words then, and no value.
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
        const key = keyBefore(text, place.getByteOffset());
        const behind, const name = if (key) |name| .{ ", behind the key ", name } else .{ "", "" };
        const format = "{s} does not fit {s}: {t} before line {d}, column {d}{s}{s}{s}";
        return failure.note(err, retry, format, .{ what, @typeName(T), err, place.getLine(), place.getColumn(), behind, name, hint });
    };
}

/// The last key before a place in JSON, as it stands there: what does not fit is its value, or in it. The value itself may be nobody's to read.
fn keyBefore(text: []const u8, place: u64) ?[]const u8 {
    const longest = 60;
    var key: ?[]const u8 = null;
    var at: usize = 0;
    while (at < @min(text.len, place)) : (at += 1) {
        if (text[at] != '"') continue;
        const start = at + 1;
        at = start;
        while (at < text.len and text[at] != '"') at += if (text[at] == '\\') 2 else 1;
        const end = @min(at, text.len);
        const rest = std.mem.trimStart(u8, text[@min(end + 1, text.len)..], " \t\r\n");
        if (rest.len > 0 and rest[0] == ':' and end - start <= longest) key = text[start..end];
    }
    return key;
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
