//! All functions besides `handle`, and the plugin's state.
const std = @import("std");
const informant = @import("../informant.zig");
const does = @import("does.zig");
const state = informant.state;
const workqueue = informant.workqueue;

const Counts = struct {
    worked: u32 = 0,

    pub fn describe(config: informant.Config) !informant.Descriptor {
        const options = try config.decode(struct { every: []const u8 = "1h" });
        return .{
            .version = "1",
            .subscriptions = &.{.{ .resource = "v1/pods" }},
            .schedules = try informant.arena.dupe(informant.Schedule, &.{.{ .name = "soon", .when = .{ .every = options.every } }}),
        };
    }

    pub fn start(config: informant.Config) !Counts {
        if (std.mem.indexOf(u8, config.json, "never") != null) return informant.never("that is no period", .{});
        return .{};
    }

    pub fn handle(_: *Counts, event: informant.Event) !void {
        workqueue.add(try event.key.text());
        workqueue.add(try event.key.text());
        workqueue.addAfter("later", 5000);
        workqueue.addAfter("later", 3000);
        workqueue.addRateLimited("failed");
        workqueue.addRateLimited("often");
        workqueue.addRateLimited("often");
        workqueue.forget("failed");
        const waits = .{ .len = workqueue.len(), .failed = workqueue.numRequeues("failed"), .often = workqueue.numRequeues("often") };
        informant.log.info("queued", waits);
    }

    pub fn reconcile(counts: *Counts, key: []const u8, attempt: u32) !?u64 {
        if (std.mem.eql(u8, key, "shop/bad")) return informant.after(10, "not yet", .{});
        counts.worked += 1;
        informant.log.info("reconciled", .{ .key = key, .attempt = attempt });
        return 7000;
    }

    pub fn fire(counts: *Counts, schedule: []const u8, unix_ms: u64) !void {
        informant.log.info("fired", .{ .schedule = schedule, .at = unix_ms, .worked = counts.worked });
    }

    pub fn synced(_: *Counts, subscription: u32) !void {
        informant.log.info("synced", .{ .subscription = subscription });
    }

    pub fn snapshot(counts: *Counts) !?[]const u8 {
        if (counts.worked == 0) return null;
        return try informant.json.encode(counts.*);
    }

    pub fn restore(counts: *Counts, from_version: []const u8, data: []const u8) !void {
        counts.* = try informant.json.keep(Counts, data);
        informant.log.info("restored", .{ .from = from_version });
    }

    pub fn stop(_: *Counts) void {
        informant.log.info("stopped", .{});
    }
};

test "keys are queued once, and worked on" {
    var host = try informant.testing.Host(Counts).start(.{});
    defer host.deinit();
    try host.add("v1/pods", does.pod("web", "a"));
    try std.testing.expectEqualDeep(&[_]informant.testing.Waiting{
        .{ .key = "shop/web" },
        .{ .key = "later", .after_ms = 3000 },
        .{ .key = "failed", .after_ms = 1 },
        .{ .key = "often", .after_ms = 1 },
    }, host.keys());
    try host.reconcile();
    try std.testing.expectEqual(1, host.plugin().worked);
    const waiting = host.keys()[host.keys().len - 1];
    try std.testing.expectEqualStrings("shop/web", waiting.key);
    try std.testing.expectEqual(7000, waiting.after_ms);
    try host.expectLog(&.{ "info queued len=1 failed=0 often=2", "info reconciled key=shop/web attempt=1" });
}

test "a key that fails says when it comes again" {
    var host = try informant.testing.Host(Counts).start(.{});
    defer host.deinit();
    try host.add("v1/pods", does.pod("bad", "a"));
    try host.expectFailure(host.reconcile(), "not yet", .{ .after_ms = 10 });
}

test "a delayed key comes back when its time has passed" {
    var host = try informant.testing.Host(Counts).start(.{});
    defer host.deinit();
    host.enqueue("shop/bad");
    try host.expectFailure(host.reconcile(), "not yet", .{ .after_ms = 10 });
    host.enqueue("shop/web");
    try host.reconcile();
    host.wait(9);
    try expectKeys(&host, &.{ .{ .key = "shop/bad", .after_ms = 1 }, .{ .key = "shop/web", .after_ms = 6991 } });
    // An event adds a key at once, and the old time still comes.
    host.enqueue("shop/web");
    try host.reconcile();
    try expectKeys(&host, &.{ .{ .key = "shop/bad", .after_ms = 1 }, .{ .key = "shop/web", .after_ms = 6991 } });
    host.enqueue("first");
    host.wait(6991);
    try expectKeys(&host, &.{ .{ .key = "first" }, .{ .key = "shop/bad" }, .{ .key = "shop/web" } });
}

fn expectKeys(host: anytype, keys: []const informant.testing.Waiting) !void {
    try std.testing.expectEqualDeep(keys, host.keys());
}

test "the clock, the end of the first list, a reload and the end" {
    var host = try informant.testing.Host(Counts).start(.{});
    defer host.deinit();
    try std.testing.expectEqual(null, try host.snapshot());
    try host.restore("0", "{\"worked\": 3}");
    try std.testing.expectEqualStrings("{\"worked\":3}", (try host.snapshot()).?);
    try std.testing.expectError(error.CallFailed, host.restore("0", "{"));
    try host.synced("v1/pods");
    try host.fire("soon", 1_700_000_000_000);
    host.stop();
    try host.expectLog(&.{
        "info restored from=0",
        "info synced subscription=0",
        "info fired schedule=soon at=1700000000000 worked=3",
        "info stopped",
    });
}

fn checkStart(config: anytype, refusal: ?[]const u8) !void {
    const Host = informant.testing.Host(Counts);
    const found = try Host.refusal(config);
    if (refusal) |words| try std.testing.expectEqualStrings(words, found.?) else try std.testing.expectEqual(null, found);
}

test "a plugin refuses a configuration in describe or start" {
    try checkStart(.{}, null);
    try checkStart(.{ .every = "10s" }, null);
    try checkStart(.{ .every = "never" }, "that is no period");
    const words = (try informant.testing.Host(Counts).refusal(.{ .evry = "10s" })).?;
    try std.testing.expectStringEndsWith(words, "UnknownField before line 1, column 8, behind the key evry; its keys are every");
}

fn keeps(event: informant.Event) !void {
    if (!try state.compareAndSet("seen", null, "1")) return informant.fail("it was set before", .{});
    try state.set("a", event.key.name);
    try state.set("b", "");
    try state.set("a", null);
    const keys = try state.keys("");
    informant.log.info("kept", .{ .keys = keys.len, .first = keys[0], .a = try state.get("a"), .b = (try state.get("b")).?.len });
    if (std.mem.eql(u8, event.key.name, "bad")) return error.Bad;
}

test "state is kept by calls that succeed" {
    var host = try informant.testing.Host(does.Does(does.pods, keeps)).start(.{});
    defer host.deinit();
    try host.expectFailure(host.add("v1/pods", does.pod("bad", "a")), "Bad", .backoff);
    try std.testing.expectEqual(null, host.state("seen"));
    try host.add("v1/pods", does.pod("web", "a"));
    try std.testing.expectEqualStrings("1", host.state("seen").?);
    try host.expectFailure(host.add("v1/pods", does.pod("web", "a")), "it was set before", .backoff);
    try host.expectLog(&.{ "info kept keys=2 first=b a=none b=0", "info kept keys=2 first=b a=none b=0" });
}

fn emptyKey(_: informant.Event) !void {
    try state.set("", "x");
}

test "what the store refuses is said" {
    var host = try informant.testing.Host(does.Does(does.pods, emptyKey)).start(.{});
    defer host.deinit();
    try host.expectFailure(host.add("v1/pods", does.pod("web", "a")), "the plugin's state: keys have 1 to 512 bytes", .backoff);
}

fn measures(event: informant.Event) !void {
    try informant.metrics.counterAdd("seen_total", .{ .change = event.change, .app = "x" }, 2);
    try informant.metrics.gaugeSet("last", .{}, 3);
    try informant.metrics.gaugeSet("last", .{}, 4);
    try informant.metrics.histogramObserve("size", .{}, 0.5);
    if (std.mem.eql(u8, event.key.name, "bad")) try informant.metrics.counterAdd("seen_total", .{}, -1);
}

test "metrics are counted, also by calls that fail" {
    var host = try informant.testing.Host(does.Does(does.pods, measures)).start(.{});
    defer host.deinit();
    try host.expectFailure(host.add("v1/pods", does.pod("bad", "a")), "metrics: a counter takes nothing negative", .backoff);
    try host.add("v1/pods", does.pod("web", "a"));
    try std.testing.expectEqual(4, host.series("seen_total{change=added,app=x}"));
    try std.testing.expectEqual(4, host.series("last{}"));
    try std.testing.expectEqual(1, host.series("size{}"));
    try std.testing.expectEqual(null, host.series("other{}"));
}

fn who(_: informant.Event) !void {
    const info = informant.host_info;
    informant.log.info("here", .{ .name = info.pluginName(), .leader = info.isLeader(), .of = info.shard().count, .version = info.hostVersion() });
}

test "a plugin knows who it is" {
    var host = try informant.testing.Host(does.Does(does.pods, who)).start(.{});
    defer host.deinit();
    try host.add("v1/pods", does.pod("web", "a"));
    try host.expectLog(&.{"info here name=test leader=true of=1 version=test"});
}
