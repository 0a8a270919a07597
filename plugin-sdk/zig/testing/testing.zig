//! A plugin in an ordinary test, without WebAssembly and without a cluster: `zig test hello.zig`. The plugin is called by the same functions that a
//! host calls, and what it calls answers from what the test has said.
//!
//!     var host = try informant.testing.Host(Hello).start(.{ .greeting = "good morning" });
//!     defer host.deinit();
//!     try host.add("v1/pods", .{ .metadata = .{ .namespace = "default", .name = "web" } });
//!     try host.expectLog(&.{"info good morning change=added pod=default/web"});
//!
//! The host delivers what it is told to: selectors, filters and replay are the real host's business. `std.log` goes to the test's own log.
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

/// Why a call did not succeed. `Host.failure` has the words, and `deinit` prints them if no `expectFailure` has had them.
pub const Error = error{
    /// The plugin's call failed.
    CallFailed,
    /// The plugin was not called, as no host would do it: its descriptor does not have what the test names.
    NotAskedFor,
};

/// A host with one plugin; there is one host at a time. Objects are JSON as a text, or values that become it.
pub fn Host(comptime Plugin: type) type {
    const calls = exports.Exports(Plugin);
    return struct {
        /// What the plugin asks for, as the host reads it.
        descriptor: std.json.Value,
        /// Why the last call failed, if it did.
        failure: ?failures.Failure = null,
        /// What `deinit` prints: of a failure that nobody expected, the call and the words.
        unexpected: ?[]const u8 = null,
        seq: u64 = 0,

        const Self = @This();

        /// Describes and starts the plugin, with this as its configuration; `.{}` for none.
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

        /// With what words `describe` or `start` refuses a configuration; null if neither does.
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

        /// Forgets everything, and gives back the plugin's memory. Says why the last call failed if no `expectFailure` did.
        pub fn deinit(self: *Self) void {
            if (self.unexpected) |words| std.debug.print("{s}\n", .{words});
            worlds.reset();
            memory.endTest();
        }

        /// The plugin itself, to look at what it keeps.
        pub fn plugin(_: *Self) *Plugin {
            return &calls.instance;
        }

        /// Has an object in the cache without telling the plugin.
        pub fn put(_: *Self, resource: []const u8, object: anytype) void {
            world.put(objects.parse(resource, object));
        }

        /// Takes an object out of the cache without telling the plugin.
        pub fn remove(_: *Self, resource: []const u8, key: Key) void {
            world.remove(resource, key);
        }

        /// The first list of a resource is not complete.
        pub fn setUnsynced(_: *Self, resource: []const u8) void {
            world.unsynced.append(worlds.memory, worlds.copy(resource)) catch worlds.noMemory();
        }

        /// Tells the plugin of an object that came. With `enqueue` rules in the subscription its key waits for `reconcile` instead, as in a host; of
        /// those rules only `self` is known here. So with `update` and `delete`.
        pub fn add(self: *Self, resource: []const u8, object: anytype) Error!void {
            const new = objects.parse(resource, object);
            world.put(new);
            return self.tell(.added, new, null);
        }

        /// Tells the plugin of an object that changed.
        pub fn update(self: *Self, resource: []const u8, before: anytype, now: anytype) Error!void {
            const new = objects.parse(resource, now);
            world.put(new);
            return self.tell(.updated, new, objects.parse(resource, before));
        }

        /// Tells the plugin of an object that went.
        pub fn delete(self: *Self, resource: []const u8, object: anytype) Error!void {
            const old = objects.parse(resource, object);
            world.remove(resource, old.key);
            return self.tell(.deleted, null, old);
        }

        fn tell(self: *Self, change: events.Change, new: ?worlds.Object, old: ?worlds.Object) Error!void {
            const object = new orelse old.?;
            const to = try self.subscription(object.resource);
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

        /// What the test asks of the plugin no host would.
        fn refuse(self: *Self, comptime format: []const u8, args: anytype) Error {
            self.note("", .{ .message = worlds.print(format, args), .retry = .never }) catch {};
            self.unexpected = self.failure.?.message;
            return error.NotAskedFor;
        }

        /// Has the plugin work on every key that does not wait for later, in turn, until there is none or one fails.
        pub fn reconcile(self: *Self) Error!void {
            comptime needs("reconcile");
            while (for (world.keys.items, 0..) |waiting, i| {
                if (waiting.after_ms == 0) break i;
            } else null) |place| {
                const key = world.keys.orderedRemove(place).key;
                const before = world.state.clone(worlds.memory) catch worlds.noMemory();
                const answer = calls.reconcile(key.ptr, key.len, 1);
                const again = if (answer.is_error == 0) answer.with.answer.get() else null;
                try self.settle(worlds.print("reconcile of {s}", .{key}), answer, before);
                if (again) |ms| world.enqueue(key, ms);
            }
        }

        /// Calls the plugin as the clock would, for one of its descriptor's schedules.
        pub fn fire(self: *Self, schedule: []const u8, unix_ms: u64) Error!void {
            comptime needs("fire");
            if (!objects.hasSchedule(self.descriptor, schedule)) return self.refuse("the plugin has no schedule {s}", .{schedule});
            const before = world.state.clone(worlds.memory) catch worlds.noMemory();
            const what = worlds.print("fire of {s}", .{schedule});
            return self.settle(what, calls.fire(schedule.ptr, schedule.len, unix_ms), before);
        }

        /// Tells the plugin that the first objects of its subscription to a resource have been told.
        pub fn synced(self: *Self, resource: []const u8) Error!void {
            comptime needs("synced");
            const place = (try self.subscription(resource)).place;
            const before = world.state.clone(worlds.memory) catch worlds.noMemory();
            return self.settle(worlds.print("synced of {s}", .{resource}), calls.synced(place), before);
        }

        /// What the plugin hands to its next version.
        pub fn snapshot(self: *Self) Error!?[]const u8 {
            comptime needs("snapshot");
            defer exports.endCall();
            const answer = calls.snapshot();
            try self.note("snapshot", if (answer.is_error == 0) null else .{ .message = answer.with.err.slice() });
            return if (answer.with.answer.get()) |data| worlds.copy(data.slice()) else null;
        }

        /// Hands over what another version has kept.
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

        /// A test that calls what is not there is not compiled.
        fn needs(comptime name: []const u8) void {
            if (!@hasDecl(Plugin, name)) @compileError(@typeName(Plugin) ++ " has no `pub fn " ++ name ++ "` that a test could call");
        }

        /// How a call went. One that failed has kept nothing in `state`.
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

        /// A call has to have failed, so: `try host.expectFailure(host.add("v1/pods", pod), "no zone", .never);`
        pub fn expectFailure(self: *Self, call: Error!void, message: []const u8, retry: failures.Retry) !void {
            try std.testing.expectError(error.CallFailed, call);
            try std.testing.expectEqualStrings(message, self.failure.?.message);
            try std.testing.expectEqual(retry, self.failure.?.retry);
            self.unexpected = null;
        }

        /// The plugin has to have logged these lines, and no others: the level, the message, the fields as `name=value`.
        pub fn expectLog(_: *Self, lines: []const []const u8) !void {
            const expected = std.mem.join(worlds.memory, "\n", lines) catch worlds.noMemory();
            const found = std.mem.join(worlds.memory, "\n", world.lines.items) catch worlds.noMemory();
            try std.testing.expectEqualStrings(expected, found);
        }

        /// Adds a key to the queue, as the host does by other rules of `enqueue`.
        pub fn enqueue(_: *Self, key: []const u8) void {
            world.enqueue(key, 0);
        }

        /// The keys of the queue, in the order in which they came.
        pub fn keys(_: *Self) []const Waiting {
            return world.keys.items;
        }

        /// A value of the plugin's state.
        pub fn state(_: *Self, key: []const u8) ?[]const u8 {
            return world.state.get(key);
        }

        /// One of the plugin's metrics: `seen_total{app=x}`. Of a histogram it is the sum.
        pub fn series(_: *Self, name: []const u8) ?f64 {
            return world.series.get(name);
        }

        /// Says what is answered to writes; `writes` has them.
        pub fn answerWrites(_: *Self, answer: *const fn (Write) WriteAnswer) void {
            world.answer_write = answer;
        }

        pub fn writes(_: *Self) []const Write {
            return world.writes.items;
        }

        /// Says what is answered to requests; `requests` has them.
        pub fn answerRequests(_: *Self, answer: *const fn (http.Request) Answer) void {
            world.answer_request = answer;
        }

        pub fn requests(_: *Self) []const http.Request {
            return world.requests.items;
        }
    };
}

/// The descriptor's JSON; null if there is none.
fn told(comptime Plugin: type, config: []const u8) ?[]const u8 {
    defer exports.endCall();
    const answer = exports.Exports(Plugin).describe(config.ptr, config.len);
    return if (answer.is_error == 0) worlds.copy(answer.with.answer.slice()) else null;
}
