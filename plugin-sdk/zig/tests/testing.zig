//! The answers and refusals of a test's host.
const std = @import("std");
const informant = @import("../informant.zig");
const does = @import("does.zig");

const Controller = struct {
    pub fn describe(config: informant.Config) !informant.Descriptor {
        const rules = try config.decode([]const informant.Enqueue);
        const subscriptions: []const informant.Subscription = &.{.{ .resource = "v1/pods", .enqueue = rules }};
        return .{ .version = "1", .subscriptions = try informant.arena.dupe(informant.Subscription, subscriptions), .schedules = &.{tick} };
    }
    const tick: informant.Schedule = .{ .name = "tick", .when = .{ .every = "1s" } };

    pub fn reconcile(_: *Controller, key: []const u8, _: u32) !?u64 {
        return informant.after(10, "{s} is not ready", .{key});
    }

    pub fn fire(_: *Controller, _: []const u8, _: u64) !void {
        return error.NoTime;
    }
};

const Host = informant.testing.Host(Controller);
const self_rule: []const u8 = "[{\"of\": {\"self\": {}}}]";

/// Checks the waiting keys after an addition, an update and a deletion of a pod.
fn checkKeys(rules: []const u8, keys: []const []const u8) !void {
    var host = try Host.start(rules);
    defer host.deinit();
    const pod = comptime does.pod("web", "a");
    try host.add("v1/pods", pod);
    try host.update("v1/pods", pod, pod);
    try host.delete("v1/pods", pod);
    try std.testing.expectEqual(keys.len, host.keys().len);
    for (keys, host.keys()) |key, waiting| try std.testing.expectEqualDeep(informant.testing.Waiting{ .key = key }, waiting);
}

test "events of a subscription with rules are keys" {
    try checkKeys(self_rule, &.{"shop/web"});
    try checkKeys(
        \\[{"of": {"self": {}}, "prefix": "pod/"}, {"of": {"self": {}}, "namespace": "none"}]
    , &.{ "pod/shop/web", "web" });
}

/// Checks the error of a test's call, and the text that `deinit` would print for it.
fn check(rules: []const u8, call: fn (*Host) informant.testing.Error!void, err: informant.testing.Error, words: []const u8) !void {
    var host = try Host.start(rules);
    defer host.deinit();
    try std.testing.expectError(err, call(&host));
    try std.testing.expectEqualStrings(words, host.unexpected.?);
    host.unexpected = null;
}

const calls = struct {
    fn add(host: *Host) informant.testing.Error!void {
        return host.add("v1/pods", does.pod("web", "a"));
    }

    fn addNode(host: *Host) informant.testing.Error!void {
        return host.add("v1/nodes", does.pod("web", "a"));
    }

    fn work(host: *Host) informant.testing.Error!void {
        host.enqueue("shop/web");
        return host.reconcile();
    }

    fn tick(host: *Host) informant.testing.Error!void {
        return host.fire("tick", 0);
    }

    fn tikc(host: *Host) informant.testing.Error!void {
        return host.fire("tikc", 0);
    }
};

const some_updates: informant.Descriptor = .{
    .version = "1",
    .subscriptions = &.{.{ .resource = "v1/pods", .types = &.{ .updated, .deleted }, .only_if_changed = &.{ "/size", "/*" } }},
};

fn names(event: informant.Event) !void {
    informant.log.info("told", .{ .name = event.key.name });
}

test "an update that changes none of the pointers is not delivered, nor a change of another type" {
    var host = try informant.testing.Host(does.Does(some_updates, names)).start(.{});
    defer host.deinit();
    try host.add("v1/pods", .{ .metadata = .{ .name = "added" } });
    try host.update("v1/pods", .{ .metadata = .{ .name = "same" }, .size = 1, .more = 1 }, .{ .metadata = .{ .name = "same" }, .size = 1, .more = 2 });
    try host.update("v1/pods", .{ .metadata = .{ .name = "changed" } }, .{ .metadata = .{ .name = "changed" }, .size = 1 });
    try host.delete("v1/pods", .{ .metadata = .{ .name = "deleted" } });
    try host.expectLog(&.{ "info told name=changed", "info told name=deleted" });
}

test "a failure that nobody expected is said with its call" {
    try check(self_rule, calls.work, error.CallFailed, "reconcile of shop/web failed: shop/web is not ready");
    try check(self_rule, calls.tick, error.CallFailed, "fire of tick failed: NoTime");
}

test "a failure that is expected is not said" {
    var host = try Host.start(self_rule);
    defer host.deinit();
    try host.expectFailure(host.fire("tick", 0), "NoTime", .backoff);
    try std.testing.expectEqual(null, host.unexpected);
}

test "what no host would ask of the plugin is refused" {
    try check(self_rule, calls.tikc, error.NotAskedFor, "the plugin has no schedule tikc");
    try check(self_rule, calls.addNode, error.NotAskedFor, "the plugin does not subscribe to v1/nodes");
    try check("[]", calls.add, error.NotAskedFor, "tests.testing.Controller has no `pub fn handle` for v1/pods");
    const owned = "tests know the `enqueue` rule of self, not {\"owner\":\"ReplicaSet\"}: use `put`, and `enqueue` with the key";
    try check("[{\"of\": {\"owner\": \"ReplicaSet\"}}]", calls.add, error.NotAskedFor, owned);
}
