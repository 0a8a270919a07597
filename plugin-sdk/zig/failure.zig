//! The reason for a failed call. A plugin returns Zig's errors. This module keeps the text and the retry of the last
//! error.
//!
//! By default, the message of an error is its name, and the event comes again with growing waits. `fail`, `never` and
//! `after` set the message and the retry. An error of the host has the host's text.
const std = @import("std");
const abi = @import("abi.zig");
const memory = @import("memory.zig");

/// The time of the retry.
pub const Retry = union(enum) {
    /// The wait of the plugin's rate limiter, which grows with every failure.
    backoff,
    /// After this number of milliseconds.
    after_ms: u64,
    /// Never: the event becomes a dead letter.
    never,
};

/// A failure in the form for the host.
pub const Failure = struct { message: []const u8, retry: Retry = .backoff };

/// The error of `fail`, `never` and `after`.
pub const Failed = error{Failed};

var last: ?struct { err: anyerror, failure: Failure } = null;

/// `return informant.fail("no zone in {s}", .{name});`: the event comes again with growing waits.
pub fn fail(comptime format: []const u8, args: anytype) Failed {
    return note(error.Failed, .backoff, format, args);
}

/// The event becomes a dead letter at once, because a retry would fail again.
pub fn never(comptime format: []const u8, args: anytype) Failed {
    return note(error.Failed, .never, format, args);
}

/// The event comes again after this number of milliseconds, instead of the rate limiter's wait.
pub fn after(ms: u64, comptime format: []const u8, args: anytype) Failed {
    return note(error.Failed, .{ .after_ms = ms }, format, args);
}

/// Keeps the text for `err`, in case the call ends with it. Returns `err`.
pub fn note(err: anytype, retry: Retry, comptime format: []const u8, args: anytype) @TypeOf(err) {
    const text = std.fmt.allocPrint(memory.call, format, args) catch @errorName(err);
    last = .{ .err = err, .failure = .{ .message = text, .retry = retry } };
    return err;
}

/// The failure for an error: the last text for it in this call, else its name.
pub fn of(err: anyerror) Failure {
    if (last) |known| if (known.err == err) return known.failure;
    return .{ .message = @errorName(err) };
}

/// The text alone: `informant.log.warn(informant.message(err), .{});`
pub fn message(err: anyerror) []const u8 {
    return of(err).message;
}

/// Forgets the texts of all errors.
pub fn forget() void {
    last = null;
}

/// Converts a text to valid UTF-8. The host would end the instance for an invalid one.
pub fn readable(text: []const u8) []const u8 {
    if (std.unicode.utf8ValidateSlice(text)) return text;
    return std.fmt.allocPrint(memory.call, "{f}", .{std.unicode.fmtUtf8(text)}) catch "a text that is no UTF-8";
}

/// Converts a failure to the host's format.
pub fn lower(failure: Failure) abi.Failure {
    const case: u8, const after_ms: u64 = switch (failure.retry) {
        .backoff => .{ 0, 0 },
        .after_ms => |ms| .{ 1, ms },
        .never => .{ 2, 0 },
    };
    return .{ .message = .of(readable(failure.message)), .retry = .{ .case = case, .after_ms = after_ms } };
}
