//! A small store of the plugin's own that outlives reloads, and restarts where the host has a state directory. It is written in `handle`,
//! `reconcile` and `fire`, and read everywhere but in `describe`. What a call wrote that fails was never there. Keys have 1 to 512 bytes; 1,000 keys
//! and 1 MiB fit.
const abi = @import("abi.zig");
const failure = @import("failure.zig");
const host = @import("imports.zig").host.state;

/// `informant.message` says why.
pub const Error = error{Refused};

/// What is kept under the key; null if nothing is.
pub fn get(key: []const u8) Error!?[]const u8 {
    const text: abi.Text = .of(key);
    var answer: abi.Result(abi.Option(abi.Text), abi.Text) = undefined;
    host.get(text.ptr, text.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return abi.optionalSlice(answer.with.answer);
}

/// Keeps a value under the key, in the place of the one before. Null removes it.
pub fn set(key: []const u8, value: ?[]const u8) Error!void {
    const text: abi.Text, const new: abi.Optional = .{ .of(key), .of(value) };
    var answer: abi.Result(abi.Nothing, abi.Text) = undefined;
    host.set(text.ptr, text.len, new.is_some, new.text.ptr, new.text.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
}

/// Sets if the value is as expected, where null is no value, and says whether it was.
pub fn compareAndSet(key: []const u8, expected: ?[]const u8, value: ?[]const u8) Error!bool {
    const text: abi.Text, const old: abi.Optional, const new: abi.Optional = .{ .of(key), .of(expected), .of(value) };
    var answer: abi.Result(u8, abi.Text) = undefined;
    const call = host.@"compare-and-set";
    call(text.ptr, text.len, old.is_some, old.text.ptr, old.text.len, new.is_some, new.text.ptr, new.text.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return answer.with.answer != 0;
}

/// The keys that begin so, sorted.
pub fn keys(prefix: []const u8) (Error || error{OutOfMemory})![]const []const u8 {
    const text: abi.Text = .of(prefix);
    var answer: abi.Result(abi.List(abi.Text), abi.Text) = undefined;
    host.keys(text.ptr, text.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return abi.slices(answer.with.answer);
}

fn refused(text: abi.Text) Error {
    return failure.note(error.Refused, .backoff, "the plugin's state: {s}", .{text.slice()});
}
