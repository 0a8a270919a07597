//! Lines in the host's log. The host adds the plugin's name, and the object, key or schedule of the call.
//!
//!     informant.log.info("seen", .{ .pod = event.key, .change = event.change });
//!
//! `std.log` also goes there, with its scope as a field, if the root file has
//! `pub const std_options = informant.std_options;`.
const std = @import("std");
const abi = @import("abi.zig");
const host = @import("imports.zig").host.log;

/// The level of a line. The host's operator chooses the lowest level that is written.
pub const Level = enum(u8) { trace, debug, info, warn, err };

/// The host cuts a message at this size, and the fields of a line together.
const text_bytes_max = 16 << 10;

pub fn trace(message: []const u8, values: anytype) void {
    write(.trace, message, values);
}

pub fn debug(message: []const u8, values: anytype) void {
    write(.debug, message, values);
}

pub fn info(message: []const u8, values: anytype) void {
    write(.info, message, values);
}

pub fn warn(message: []const u8, values: anytype) void {
    write(.warn, message, values);
}

pub fn err(message: []const u8, values: anytype) void {
    write(.err, message, values);
}

/// Whether lines of this level are written. Check it before you build an expensive line.
pub fn enabled(level: Level) bool {
    return host.enabled(@backingInt(level)) != 0;
}

/// Writes one line with a field for each field of the struct `values`: texts, numbers, enums, errors, and values with
/// `{f}`.
pub fn write(level: Level, message: []const u8, values: anytype) void {
    if (!enabled(level)) return;
    var room: Room = .begin(&texts);
    const text = room.readable(message);
    var pairs: [fieldCount(@TypeOf(values))]abi.Pair = undefined;
    room = .begin(&field_texts);
    put(level, text, fields(&room, values, &pairs));
}

/// Writes one line in the format of `std.fmt`, without fields.
pub fn print(level: Level, comptime format: []const u8, args: anytype) void {
    if (!enabled(level)) return;
    put(level, formattedText(format, args), &.{});
}

/// `std.Options` that make `std.log` write here: every level, filtered by the host's own setting.
pub const std_options: std.Options = .{ .log_level = .debug, .logFn = stdLog };

fn stdLog(comptime level: std.log.Level, comptime scope: @EnumLiteral(), comptime format: []const u8, args: anytype) void {
    const of: Level = switch (level) {
        .err => .err,
        .warn => .warn,
        .info => .info,
        .debug => .debug,
    };
    if (!enabled(of)) return;
    const pairs: [1]abi.Pair = .{.{ .first = .of("scope"), .second = .of(@tagName(scope)) }};
    put(of, formattedText(format, args), if (scope == .default) &.{} else &pairs);
}

fn formattedText(comptime format: []const u8, args: anytype) []const u8 {
    var room: Room = .begin(&formatted);
    const text = room.print(format, args);
    var fitting: Room = .begin(&texts);
    return fitting.readable(text);
}

fn put(level: Level, message: []const u8, pairs: []const abi.Pair) void {
    const list: abi.List(abi.Pair) = .of(pairs);
    const text: abi.Text = .of(message);
    host.log(@backingInt(level), text.ptr, text.len, list.ptr, list.len);
}

var formatted: [text_bytes_max]u8 = undefined;
var texts: [text_bytes_max]u8 = undefined;
var field_texts: [text_bytes_max]u8 = undefined;

pub fn fieldCount(comptime Values: type) usize {
    return @typeInfo(Values).@"struct".field_names.len;
}

/// Converts the fields of a struct to pairs of texts, in `room`. Also used for labels of metrics.
pub fn fields(room: *Room, values: anytype, pairs: []abi.Pair) []const abi.Pair {
    inline for (@typeInfo(@TypeOf(values)).@"struct".field_names, pairs) |name, *pair| {
        pair.* = .{ .first = .of(name), .second = .of(room.value(@field(values, name))) };
    }
    return pairs;
}

/// Memory for texts, which are cut at its end. Nothing is allocated, so that a plugin can log that it is out of
/// memory.
pub const Room = struct {
    writer: std.Io.Writer,

    pub fn begin(bytes: []u8) Room {
        return .{ .writer = .fixed(bytes) };
    }

    fn print(room: *Room, comptime format: []const u8, args: anytype) []const u8 {
        const start = room.writer.end;
        room.writer.print(format, args) catch {}; // What does not fit is cut off.
        return room.writer.buffered()[start..];
    }

    /// Converts any text to valid UTF-8, which the host requires.
    fn readable(room: *Room, text: []const u8) []const u8 {
        if (text.len <= text_bytes_max and std.unicode.utf8ValidateSlice(text)) return text;
        return whole(room.print("{f}", .{std.unicode.fmtUtf8(text)}));
    }

    fn value(room: *Room, of: anytype) []const u8 {
        const T = @TypeOf(of);
        return switch (@typeInfo(T)) {
            .optional => if (of) |some| room.value(some) else "none",
            .null => "none",
            .@"enum", .enum_literal => @tagName(of),
            .error_set => @errorName(of),
            .bool => if (of) "true" else "false",
            .int, .comptime_int, .float, .comptime_float => room.print("{d}", .{of}),
            else => if (comptime @import("json.zig").isText(T))
                room.readable(of)
            else if (comptime std.meta.hasMethod(T, "format"))
                room.readable(room.print("{f}", .{of}))
            else
                room.readable(room.print("{any}", .{of})),
        };
    }
};

/// Removes the incomplete character at the end of a cut text.
fn whole(text: []const u8) []const u8 {
    var end = text.len;
    while (end > 0 and text.len - end < 4 and !std.unicode.utf8ValidateSlice(text[0..end])) end -= 1;
    return text[0..end];
}
