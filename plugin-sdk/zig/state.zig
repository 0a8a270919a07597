//! A small store for the plugin. It outlives reloads, and also restarts if the host has a state directory. `handle`,
//! `reconcile` and `fire` may write it, and all functions but `describe` may read it. The writes of a failed call are
//! dropped. Keys have 1 to 512 bytes. The store has up to 1,000 keys and 1 MiB.
const abi = @import("abi.zig");
const failure = @import("failure.zig");
const host = @import("imports.zig").host.state;

/// `informant.message` returns the reason.
pub const Error = error{Refused};

/// The value of the key, or null.
pub fn get(key: []const u8) Error!?[]const u8 {
    const text: abi.Text = .of(key);
    var answer: abi.Result(abi.Option(abi.Text), abi.Text) = undefined;
    host.get(text.ptr, text.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return abi.optionalSlice(answer.with.answer);
}

/// Sets the value of the key. Null removes it.
pub fn set(key: []const u8, value: ?[]const u8) Error!void {
    const text: abi.Text, const new: abi.Optional = .{ .of(key), .of(value) };
    var answer: abi.Result(abi.Nothing, abi.Text) = undefined;
    host.set(text.ptr, text.len, new.is_some, new.text.ptr, new.text.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
}

/// Sets the value if the present one is as expected, where null means no value. Returns whether it was.
pub fn compareAndSet(key: []const u8, expected: ?[]const u8, value: ?[]const u8) Error!bool {
    const text: abi.Text, const old: abi.Optional, const new: abi.Optional = .{ .of(key), .of(expected), .of(value) };
    var answer: abi.Result(u8, abi.Text) = undefined;
    const call = host.@"compare-and-set";
    call(text.ptr, text.len, old.is_some, old.text.ptr, old.text.len, new.is_some, new.text.ptr, new.text.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return answer.with.answer != 0;
}

/// The keys with this prefix, sorted.
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
