//! Converts JSON to and from Zig's values with `std.json`, and adds the position to errors.
const std = @import("std");
const failure = @import("failure.zig");
const memory = @import("memory.zig");

pub const DecodeError = std.json.ParseError(std.json.Scanner);

/// Decodes a struct with the needed fields and ignores other fields. A field that the object may lack needs a default.
/// Texts point into the JSON if possible, so the result lives as long as the JSON: until the call ends.
pub fn decode(comptime T: type, text: []const u8) DecodeError!T {
    return decodeWith(T, text, memory.arena, .{ .ignore_unknown_fields = true }, "the JSON", .backoff);
}

/// The same in memory of `informant.allocator`, for values that stay.
pub fn keep(comptime T: type, text: []const u8) DecodeError!T {
    const options: std.json.ParseOptions = .{ .ignore_unknown_fields = true, .allocate = .alloc_always };
    return decodeWith(T, text, memory.allocator, options, "the JSON", .backoff);
}

/// The same with other options. `what` names the text in an error. The error contains the key before the position, and
/// no value.
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

/// The last key before a position in JSON, as written there. The value that does not fit is the value of this key, or
/// within it. Values are not shown, because they may be secret.
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

/// Encodes a value as JSON. A text is taken as JSON and returned unchanged. Optional fields that are null are omitted.
pub fn encode(value: anytype) error{OutOfMemory}![]const u8 {
    const T = @TypeOf(value);
    if (comptime isText(T)) return value;
    // `.{}` means an object without members; Zig cannot distinguish it from a tuple.
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
