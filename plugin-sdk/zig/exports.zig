//! The functions that the host calls: the contract's exports, made from the declarations of a plugin's struct. Each
//! keeps the ABI's rules. Arguments are in memory from `realloc`. An answer stays until the host has read it; then all
//! of the call's memory is free again.
const std = @import("std");
const builtin = @import("builtin");
const abi = @import("abi.zig");
const Config = @import("config.zig").Config;
const Descriptor = @import("descriptor.zig").Descriptor;
const Event = @import("event.zig").Event;
const failure = @import("failure.zig");
const kube = @import("kube.zig");
const memory = @import("memory.zig");
const mistake = @import("declarations.zig").mistake;

/// Exports a struct as the plugin of this file: `comptime { informant.plugin(Hello); }` in the root file. Only public
/// declarations are exported: a function without `pub` is not visible, and is not called. `describe` and one of
/// `handle`, `reconcile` and `fire` are required. Two mistakes are refused: a public function whose name is almost one
/// of these, and a constant `describe` that needs calls of missing functions.
///
///     pub const describe: informant.Descriptor = .{ ... };           // or
///     pub fn describe(config: informant.Config) !informant.Descriptor
///     pub fn start(config: informant.Config) !Hello                   // without it, every field has its default
///     pub fn handle(self: *Hello, event: informant.Event) !void
///     pub fn reconcile(self: *Hello, key: []const u8, attempt: u32) !?u64   // milliseconds until the key comes again
///     pub fn fire(self: *Hello, schedule: []const u8, unix_ms: u64) !void
///     pub fn synced(self: *Hello, subscription: u32) !void            // after the subscription's initial objects
///     pub fn snapshot(self: *Hello) !?[]const u8                      // for the next version; with restore
///     pub fn restore(self: *Hello, from_version: []const u8, data: []const u8) !void
///     pub fn stop(self: *Hello) void                                  // the last call; none after a trap or a deadline
pub fn plugin(comptime Plugin: type) void {
    check(Plugin);
    if (!builtin.cpu.arch.isWasm()) return;
    if (!@hasDecl(@import("root"), "panic"))
        @compileError("a panic would say nothing: the root file needs `pub const panic = informant.panic;`");
    if (!@hasDecl(@import("root"), "std_options"))
        @compileError("std.log would have nowhere to write: the root file needs `pub const std_options = informant.std_options;`");
    const exports = Exports(Plugin);
    @export(&memory.realloc, .{ .name = "cabi_realloc" });
    @export(&exports.describe, .{ .name = "informant:plugin/lifecycle@0.1.0#describe" });
    @export(&exports.start, .{ .name = "informant:plugin/lifecycle@0.1.0#start" });
    @export(&exports.stop, .{ .name = "informant:plugin/lifecycle@0.1.0#stop" });
    @export(&afterwards, .{ .name = "cabi_post_informant:plugin/lifecycle@0.1.0#describe" });
    @export(&afterwards, .{ .name = "cabi_post_informant:plugin/lifecycle@0.1.0#start" });
    for (optional) |one| if (@hasDecl(Plugin, one[0])) {
        @export(&@field(exports, one[0]), .{ .name = one[1] });
        @export(&afterwards, .{ .name = "cabi_post_" ++ one[1] });
    };
}

const optional = [_][2][]const u8{
    .{ "handle", "informant:plugin/handler@0.1.0#handle" },
    .{ "reconcile", "informant:plugin/reconciler@0.1.0#reconcile" },
    .{ "fire", "informant:plugin/timer@0.1.0#fire" },
    .{ "synced", "informant:plugin/sync-aware@0.1.0#synced" },
    .{ "snapshot", "informant:plugin/stateful@0.1.0#snapshot" },
    .{ "restore", "informant:plugin/stateful@0.1.0#restore" },
};

fn check(comptime Plugin: type) void {
    if (mistake(Plugin)) |words| @compileError(@typeName(Plugin) ++ " " ++ words);
}

/// Called by the host after it has read the answer of a call.
fn afterwards(_: *const anyopaque) callconv(.c) void {
    endCall();
}

/// Ends a call. The next call starts without its state.
pub fn endCall() void {
    failure.forget();
    kube.forget();
    memory.endCall();
}

const Text = abi.Text;
const Told = abi.Result(Text, Text);
const Done = abi.Result(abi.Nothing, Text);
const Settled = abi.Result(abi.Nothing, abi.Failure);
const Again = abi.Result(abi.Option(u64), abi.Failure);
const Kept = abi.Result(abi.Option(Text), Text);

/// The functions that the host calls, for one plugin. Tests call them, too.
pub fn Exports(comptime Plugin: type) type {
    return struct {
        /// Created before all other calls.
        pub var instance: Plugin = undefined;

        var told: Told = undefined;
        var done: Done = undefined;
        var settled: Settled = undefined;
        var again: Again = undefined;
        var kept: Kept = undefined;

        pub fn describe(config: [*]const u8, len: usize) callconv(.c) *const Told {
            told = if (described(.{ .json = config[0..len] })) |text| answered(Told, .of(text)) else |err| refused(Told, err);
            return &told;
        }

        fn described(config: Config) anyerror![]const u8 {
            const descriptor: anyerror!Descriptor = if (@TypeOf(Plugin.describe) == Descriptor) Plugin.describe else Plugin.describe(config);
            return (try descriptor).json();
        }

        pub fn start(config: [*]const u8, len: usize) callconv(.c) *const Done {
            done = if (started(.{ .json = config[0..len] })) |new| it: {
                instance = new;
                break :it answered(Done, 0);
            } else |err| refused(Done, err);
            return &done;
        }

        fn started(config: Config) anyerror!Plugin {
            return if (@hasDecl(Plugin, "start")) Plugin.start(config) else .{};
        }

        pub fn stop() callconv(.c) void {
            if (@hasDecl(Plugin, "stop")) instance.stop();
            endCall();
        }

        pub fn handle(event: *const abi.Event) callconv(.c) *const Settled {
            return settle(instance.handle(Event.lift(event)));
        }

        pub fn reconcile(key: [*]const u8, len: usize, attempt: u32) callconv(.c) *const Again {
            const result: anyerror!?u64 = instance.reconcile(key[0..len], attempt);
            again = if (result) |ms| answered(Again, .of(ms)) else |err| failed(Again, err);
            return &again;
        }

        pub fn fire(schedule: [*]const u8, len: usize, unix_ms: u64) callconv(.c) *const Settled {
            return settle(instance.fire(schedule[0..len], unix_ms));
        }

        pub fn synced(subscription: u32) callconv(.c) *const Settled {
            return settle(instance.synced(subscription));
        }

        pub fn snapshot() callconv(.c) *const Kept {
            const result: anyerror!?[]const u8 = instance.snapshot();
            kept = if (result) |data| answered(Kept, .of(if (data) |some| .of(some) else null)) else |err| refused(Kept, err);
            return &kept;
        }

        pub fn restore(from: [*]const u8, from_len: usize, data: [*]const u8, data_len: usize) callconv(.c) *const Done {
            const result: anyerror!void = instance.restore(from[0..from_len], data[0..data_len]);
            done = if (result) answered(Done, 0) else |err| refused(Done, err);
            return &done;
        }

        fn settle(result: anyerror!void) *const Settled {
            settled = if (result) answered(Settled, 0) else |err| failed(Settled, err);
            return &settled;
        }
    };
}

fn answered(comptime Result: type, answer: @FieldType(@FieldType(Result, "with"), "answer")) Result {
    return .{ .is_error = 0, .with = .{ .answer = answer } };
}

fn refused(comptime Result: type, err: anyerror) Result {
    return .{ .is_error = 1, .with = .{ .err = .of(failure.readable(failure.message(err))) } };
}

fn failed(comptime Result: type, err: anyerror) Result {
    return .{ .is_error = 1, .with = .{ .err = failure.lower(failure.of(err)) } };
}
