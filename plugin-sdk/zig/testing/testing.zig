//! Runs a plugin in an ordinary test, without WebAssembly and without a cluster: `zig test hello.zig`. The test calls
//! the same functions of the plugin as a host, and the plugin's calls are answered with the test's data.
//!
//!     var host = try informant.testing.Host(Hello).start(.{ .greeting = "good morning" });
//!     defer host.deinit();
//!     try host.add("v1/pods", .{ .metadata = .{ .namespace = "default", .name = "web" } });
//!     try host.expectLog(&.{"info good morning change=added pod=default/web"});
//!
//! The host delivers the events that the test gives it: namespaces, selectors, filters and replay work only in the
//! real host.
//! `std.log` goes to the test's own log.
const std = @import("std");
const abi = @import("../abi.zig");
const events = @import("../event.zig");
const exports = @import("../exports.zig");
const failures = @import("../failure.zig");
const http = @import("../http.zig");
const memory = @import("../memory.zig");
const objects = @import("object.zig");
const worlds = @import("world.zig");
const Key = events.Key;
const world = &worlds.world;

pub const Write = worlds.Write;
pub const WriteAnswer = worlds.WriteAnswer;
pub const Answer = worlds.Answer;
pub const Waiting = worlds.Waiting;

/// The reason for a failed call. `Host.failure` has the text, and `deinit` prints it unless `expectFailure` has
/// checked it.
pub const Error = error{
    /// The plugin's call failed.
    CallFailed,
    /// The plugin was not called, as no host would call it: its descriptor does not contain what the test names.
    NotAskedFor,
};

/// A host with one plugin. There is one host at a time. Objects are JSON as a text, or values that are encoded as
/// JSON.
pub fn Host(comptime Plugin: type) type {
    const calls = exports.Exports(Plugin);
    return struct {
        /// The plugin's descriptor, as the host parses it.
        descriptor: std.json.Value,
        /// The failure of the last call, if it failed.
        failure: ?failures.Failure = null,
        /// The output of `deinit`: the call and the text of an unexpected failure.
        unexpected: ?[]const u8 = null,
        seq: u64 = 0,

        const Self = @This();

        /// Describes and starts the plugin with this configuration. `.{}` means no configuration.
        pub fn start(config: anytype) (Error || std.json.ParseError(std.json.Scanner))!Self {
            if (try refusal(config)) |text| {
                std.log.warn("the plugin does not start: {s}", .{text});
                return error.CallFailed;
            }
            const text = told(Plugin, objects.encode(config)).?;
            const descriptor = try std.json.parseFromSliceLeaky(std.json.Value, worlds.memory, text, .{});
            objects.grant(descriptor);
            return .{ .descriptor = descriptor };
        }

        /// The text with which `describe` or `start` refuses a configuration. Null if neither does.
        pub fn refusal(config: anytype) error{}!?[]const u8 {
            worlds.reset();
            memory.endTest();
            const text = objects.encode(config);
            defer exports.endCall();
            const described = calls.describe(text.ptr, text.len);
            if (described.is_error != 0) return worlds.copy(described.with.err.slice());
            const started = calls.start(text.ptr, text.len);
            return if (started.is_error != 0) worlds.copy(started.with.err.slice()) else null;
        }

        /// Forgets everything, and frees the plugin's memory. Prints the failure of the last call unless
        /// `expectFailure` has checked it.
        pub fn deinit(self: *Self) void {
            if (self.unexpected) |words| std.debug.print("{s}\n", .{words});
            worlds.reset();
            memory.endTest();
        }

        /// The plugin itself, for checks of its state.
        pub fn plugin(_: *Self) *Plugin {
            return &calls.instance;
        }

        /// Puts an object into the cache without an event.
        pub fn put(_: *Self, resource: []const u8, object: anytype) void {
            world.put(objects.parse(resource, object));
        }

        /// Removes an object from the cache without an event.
        pub fn remove(_: *Self, resource: []const u8, key: Key) void {
            world.remove(resource, key);
        }

        /// The first list of a resource is not complete.
        pub fn setUnsynced(_: *Self, resource: []const u8) void {
            world.unsynced.append(worlds.memory, worlds.copy(resource)) catch worlds.noMemory();
        }

        /// Delivers an added object to the plugin. If the subscription has `enqueue` rules, its key waits for
        /// `reconcile` instead, as in a host. Of these rules, only `self` is supported here. The same holds for
        /// `update` and `delete`. Of the subscription's conditions `types` and `only_if_changed` count.
        pub fn add(self: *Self, resource: []const u8, object: anytype) Error!void {
            const new = objects.parse(resource, object);
            world.put(new);
            return self.tell(.added, new, null);
        }

        /// Delivers a changed object to the plugin.
        pub fn update(self: *Self, resource: []const u8, before: anytype, now: anytype) Error!void {
            const new = objects.parse(resource, now);
            world.put(new);
            return self.tell(.updated, new, objects.parse(resource, before));
        }

        /// Delivers a deleted object to the plugin.
        pub fn delete(self: *Self, resource: []const u8, object: anytype) Error!void {
            const old = objects.parse(resource, object);
            world.remove(resource, old.key);
            return self.tell(.deleted, null, old);
        }

        fn tell(self: *Self, change: events.Change, new: ?worlds.Object, old: ?worlds.Object) Error!void {
            const object = new orelse old.?;
            const to = try self.subscription(object.resource);
            if (!objects.isWanted(to.of, change, new, old)) return self.note("", null);
            if (objects.rules(to.of)) |rules| {
                for (rules) |rule| {
                    const key = objects.keyBy(rule, object.key) orelse return self.refuse(
                        "tests know the `enqueue` rule of self, not {s}: use `put`, and `enqueue` with the key",
                        .{worlds.jsonOf(rule)},
                    );
                    world.enqueue(key, 0);
                }
                return self.note("", null);
            }
            if (!@hasDecl(Plugin, "handle")) return self.refuse("{s} has no `pub fn handle` for {s}", .{ @typeName(Plugin), object.resource });
            world.new, world.old = .{ new, old };
            defer world.new, world.old = .{ null, null };
            self.seq += 1;
            const event = objects.event(to, self.seq, change, new, old);
            const what = worlds.print("handle of {t} {s} {f}", .{ change, object.resource, object.key });
            const before = world.state.clone(worlds.memory) catch worlds.noMemory();
            return self.settle(what, calls.handle(&event), before);
        }

        fn subscription(self: *Self, resource: []const u8) Error!objects.Subscription {
            return objects.subscription(self.descriptor, resource) orelse self.refuse("the plugin does not subscribe to {s}", .{resource});
        }

        /// Refuses a call that no host would make.
        fn refuse(self: *Self, comptime format: []const u8, args: anytype) Error {
            self.note("", .{ .message = worlds.print(format, args), .retry = .never }) catch {};
            self.unexpected = self.failure.?.message;
            return error.NotAskedFor;
        }

        /// Works on every key that is due, in turn, until there is none or one fails. That one comes again as its failure
        /// says.
        pub fn reconcile(self: *Self) Error!void {
            comptime needs("reconcile");
            while (for (world.keys.items, 0..) |waiting, i| {
                if (waiting.after_ms == 0) break i;
            } else null) |place| {
                const key = world.keys.orderedRemove(place).key;
                const before = world.state.clone(worlds.memory) catch worlds.noMemory();
                const answer = calls.reconcile(key.ptr, key.len, 1);
                const again = if (answer.is_error == 0) answer.with.answer.get() else null;
                self.settle(worlds.print("reconcile of {s}", .{key}), answer, before) catch |failed| {
                    switch (self.failure.?.retry) {
                        .backoff => world.enqueueRateLimited(key),
                        .after_ms => |ms| world.enqueue(key, ms),
                        .never => {},
                    }
                    return failed;
                };
                if (again) |ms| world.enqueue(key, ms);
            }
        }

        /// Lets time pass for the queue: the delayed keys that are due by then follow in the order of their times. Time
        /// passes for no schedule: call `fire`.
        pub fn wait(_: *Self, ms: u64) void {
            world.wait(ms);
        }

        /// Calls `fire` for one of the descriptor's schedules.
        pub fn fire(self: *Self, schedule: []const u8, unix_ms: u64) Error!void {
            comptime needs("fire");
            if (!objects.hasSchedule(self.descriptor, schedule)) return self.refuse("the plugin has no schedule {s}", .{schedule});
            const before = world.state.clone(worlds.memory) catch worlds.noMemory();
            const what = worlds.print("fire of {s}", .{schedule});
            return self.settle(what, calls.fire(schedule.ptr, schedule.len, unix_ms), before);
        }

        /// Calls `synced`: the initial objects of the subscription to a resource were delivered.
        pub fn synced(self: *Self, resource: []const u8) Error!void {
            comptime needs("synced");
            const place = (try self.subscription(resource)).place;
            const before = world.state.clone(worlds.memory) catch worlds.noMemory();
            return self.settle(worlds.print("synced of {s}", .{resource}), calls.synced(place), before);
        }

        /// The plugin's snapshot for its next version.
        pub fn snapshot(self: *Self) Error!?[]const u8 {
            comptime needs("snapshot");
            defer exports.endCall();
            const answer = calls.snapshot();
            try self.note("snapshot", if (answer.is_error == 0) null else .{ .message = answer.with.err.slice() });
            return if (answer.with.answer.get()) |data| worlds.copy(data.slice()) else null;
        }

        /// Passes the snapshot of another version to the plugin.
        pub fn restore(self: *Self, from_version: []const u8, data: []const u8) Error!void {
            comptime needs("restore");
            defer exports.endCall();
            const answer = calls.restore(from_version.ptr, from_version.len, data.ptr, data.len);
            try self.note("restore", if (answer.is_error == 0) null else .{ .message = answer.with.err.slice() });
        }

        /// The last call.
        pub fn stop(_: *Self) void {
            calls.stop();
        }

        /// A test that calls a missing function does not compile.
        fn needs(comptime name: []const u8) void {
            if (!@hasDecl(Plugin, name)) @compileError(@typeName(Plugin) ++ " has no `pub fn " ++ name ++ "` that a test could call");
        }

        /// Records the result of a call. A failed call keeps nothing in `state`.
        fn settle(self: *Self, what: []const u8, answer: anytype, before: @TypeOf(world.state)) Error!void {
            defer exports.endCall();
            if (answer.is_error == 0) return self.note(what, null);
            world.state = before;
            const failed = answer.with.err;
            const retry: failures.Retry = switch (failed.retry.case) {
                0 => .backoff,
                1 => .{ .after_ms = failed.retry.after_ms },
                else => .never,
            };
            return self.note(what, .{ .message = failed.message.slice(), .retry = retry });
        }

        fn note(self: *Self, what: []const u8, failed: ?failures.Failure) Error!void {
            self.failure, self.unexpected = .{ null, null };
            const one = failed orelse return;
            self.failure = .{ .message = worlds.copy(one.message), .retry = one.retry };
            self.unexpected = worlds.print("{s} failed: {s}", .{ what, one.message });
            return error.CallFailed;
        }

        /// Checks that a call has failed in this way: `try host.expectFailure(host.add("v1/pods", pod), "no zone",
        /// .never);`
        pub fn expectFailure(self: *Self, call: Error!void, message: []const u8, retry: failures.Retry) !void {
            try std.testing.expectError(error.CallFailed, call);
            try std.testing.expectEqualStrings(message, self.failure.?.message);
            try std.testing.expectEqual(retry, self.failure.?.retry);
            self.unexpected = null;
        }

        /// Checks that the plugin has logged exactly these lines: the level, the message, the fields as `name=value`.
        pub fn expectLog(_: *Self, lines: []const []const u8) !void {
            const expected = std.mem.join(worlds.memory, "\n", lines) catch worlds.noMemory();
            const found = std.mem.join(worlds.memory, "\n", world.lines.items) catch worlds.noMemory();
            try std.testing.expectEqualStrings(expected, found);
        }

        /// Adds a key to the queue, as the host does by other rules of `enqueue`.
        pub fn enqueue(_: *Self, key: []const u8) void {
            world.enqueue(key, 0);
        }

        /// The keys of the queue, in the order in which they were added.
        pub fn keys(_: *Self) []const Waiting {
            return world.keys.items;
        }

        /// A value of the plugin's state.
        pub fn state(_: *Self, key: []const u8) ?[]const u8 {
            return world.state.get(key);
        }

        /// One of the plugin's metrics: `seen_total{app=x}`. The value of a histogram is its sum.
        pub fn series(_: *Self, name: []const u8) ?f64 {
            return world.series.get(name);
        }

        /// Sets the answers to writes. `writes` has the writes.
        pub fn answerWrites(_: *Self, answer: *const fn (Write) WriteAnswer) void {
            world.answer_write = answer;
        }

        pub fn writes(_: *Self) []const Write {
            return world.writes.items;
        }

        /// Sets the answers to requests. `requests` has the requests.
        pub fn answerRequests(_: *Self, answer: *const fn (http.Request) Answer) void {
            world.answer_request = answer;
        }

        pub fn requests(_: *Self) []const http.Request {
            return world.requests.items;
        }
    };
}

/// The descriptor's JSON. Null if there is none.
fn told(comptime Plugin: type, config: []const u8) ?[]const u8 {
    defer exports.endCall();
    const answer = exports.Exports(Plugin).describe(config.ptr, config.len);
    return if (answer.is_error == 0) worlds.copy(answer.with.answer.slice()) else null;
}
