//! Why a call did not succeed. A plugin returns Zig's errors; this keeps the text and the retry that belong to the last of them.
//!
//! An error that comes with nothing is a failure with its name as the message, and comes again with growing waits. `fail`, `never` and `after` say
//! more, and what the host refuses brings its own words.
const std = @import("std");
const abi = @import("abi.zig");
const memory = @import("memory.zig");

/// When what failed comes again.
pub const Retry = union(enum) {
    /// As the plugin's rate limiter says: after a wait that grows with every failure.
    backoff,
    /// After so many milliseconds.
    after_ms: u64,
    /// To the dead letters.
    never,
};

/// A failure as the host hears it.
pub const Failure = struct { message: []const u8, retry: Retry = .backoff };

/// What `fail`, `never` and `after` return.
pub const Failed = error{Failed};

var last: ?struct { err: anyerror, failure: Failure } = null;

/// `return informant.fail("no zone in {s}", .{name});`: comes again with growing waits.
pub fn fail(comptime format: []const u8, args: anytype) Failed {
    return note(error.Failed, .backoff, format, args);
}

/// Sends the event to the dead letters at once: trying again would not help.
pub fn never(comptime format: []const u8, args: anytype) Failed {
    return note(error.Failed, .never, format, args);
}

/// Comes again after so many milliseconds, and not as the rate limiter says.
pub fn after(ms: u64, comptime format: []const u8, args: anytype) Failed {
    return note(error.Failed, .{ .after_ms = ms }, format, args);
}

/// Keeps what is to be said of `err` if the call ends with it, and returns it.
pub fn note(err: anytype, retry: Retry, comptime format: []const u8, args: anytype) @TypeOf(err) {
    const text = std.fmt.allocPrint(memory.call, format, args) catch @errorName(err);
    last = .{ .err = err, .failure = .{ .message = text, .retry = retry } };
    return err;
}

/// What is known of an error: the words of whoever returned it last in this call, else its name.
pub fn of(err: anyerror) Failure {
    if (last) |known| if (known.err == err) return known.failure;
    return .{ .message = @errorName(err) };
}

/// The words alone: `informant.log.warn(informant.message(err), .{});`
pub fn message(err: anyerror) []const u8 {
    return of(err).message;
}

/// Nothing is known of any error.
pub fn forget() void {
    last = null;
}

/// A text as the host takes it: what is no UTF-8 is replaced, as it would end the instance.
pub fn readable(text: []const u8) []const u8 {
    if (std.unicode.utf8ValidateSlice(text)) return text;
    return std.fmt.allocPrint(memory.call, "{f}", .{std.unicode.fmtUtf8(text)}) catch "a text that is no UTF-8";
}

/// How the host reads a failure.
pub fn lower(failure: Failure) abi.Failure {
    const case: u8, const after_ms: u64 = switch (failure.retry) {
        .backoff => .{ 0, 0 },
        .after_ms => |ms| .{ 1, ms },
        .never => .{ 2, 0 },
    };
    return .{ .message = .of(readable(failure.message)), .retry = .{ .case = case, .after_ms = after_ms } };
}
