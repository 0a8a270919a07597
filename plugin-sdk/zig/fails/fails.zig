//! Fails does with every pod what the pod's annotation asks for. The host's tests of this SDK use it. It is built like
//! a project, with the SDK in `sdk/zig`.
const std = @import("std");
const informant = @import("sdk/zig/informant.zig");
const event_data = informant.event_data;
const indexer = informant.indexer;
const kube = informant.kube;
const log = informant.log;
const state = informant.state;

const Pod = struct {
    metadata: struct { annotations: struct { does: []const u8 = "" } = .{} },
};

/// The requests of pods. Any other value means nothing.
const Does = enum { nothing, fail, panic, overflow, recurse, exhaust, look, use };

const Fails = struct {
    has_fired: bool = false,
    kept: std.ArrayList([]u8) = .empty,

    pub const describe: informant.Descriptor = .{
        .version = "0.1.0",
        .subscriptions = &.{.{ .resource = "v1/pods", .with_old = true }},
        .indexes = &.{.{ .resource = "v1/pods", .name = "app", .pointer = "/metadata/labels/app" }},
        .schedules = &.{.{ .name = "soon", .when = .{ .every = "1s" } }},
    };

    pub fn handle(fails: *Fails, event: informant.Event) !void {
        const pod = try event.decode(Pod);
        if (event.change != .added) return;
        switch (std.meta.stringToEnum(Does, pod.metadata.annotations.does) orelse .nothing) {
            .nothing => log.info("well", .{ .pod = event.key }),
            .fail => return informant.never("asked to fail", .{}),
            .panic => std.debug.panic("asked to panic by {s}", .{event.key.name}),
            .overflow => log.info("added up", .{ .sum = @as(u8, 255) + @as(u8, @intCast(event.key.name.len)) }),
            .recurse => log.info("went deep", .{ .depth = depth(event.key.name.len) }),
            // The kept memory ends with the instance.
            .exhaust => while (true) try fails.kept.append(informant.allocator, try informant.allocator.alloc(u8, 1 << 20)),
            .look => look(),
            .use => try use(event),
        }
    }

    pub fn reconcile(_: *Fails, _: []const u8, attempt: u32) !?u64 {
        log.info("reconciled", .{ .attempt = attempt, .waiting = informant.workqueue.len() });
        return null;
    }

    pub fn fire(fails: *Fails, schedule: []const u8, unix_ms: u64) !void {
        if (!fails.has_fired) log.info("fired", .{ .schedule = schedule, .at = unix_ms });
        fails.has_fired = true;
    }

    pub fn synced(_: *Fails, subscription: u32) !void {
        log.info("synced", .{ .subscription = subscription });
    }

    pub fn snapshot(_: *Fails) !?[]const u8 {
        return "carried";
    }

    pub fn restore(_: *Fails, from_version: []const u8, data: []const u8) !void {
        log.info("restored", .{ .from = from_version, .data = data });
    }

    pub fn stop(_: *Fails) void {
        log.info("stopped", .{});
    }
};

/// Deeper than any stack. Each level has work after its call.
fn depth(from: usize) usize {
    var room: [64]usize = @splat(from);
    std.mem.doNotOptimizeAway(&room);
    return 1 + depth(from + 1) + room[from % room.len] % 2;
}

fn look() void {
    const shard = informant.host_info.shard();
    std.log.scoped(.looking).warn("an old way to log, {d} of {d}", .{ shard.number, shard.count });
    log.info("looked", .{ .shard = shard.number, .of = shard.count, .version = informant.host_info.hostVersion() });
    log.info("bytes that are no text: \xff", .{ .bytes = "\xc0" });
}

/// Calls every function of the host once.
fn use(event: informant.Event) !void {
    const name = try event_data.field([]const u8, .new, "/metadata/name") orelse "";
    const fields = (try indexer.fields("v1/pods", event.key, &.{ "/metadata/labels/app", "/none" })).?;
    if (fields[0] == null or fields[1] != null) return informant.fail("fields: {?s} {?s}", .{ fields[0], fields[1] });
    const none = try indexer.get("v1/pods", .{ .namespace = event.key.namespace, .name = "none" });
    try state.set("a", "1");
    const is_swapped = try state.compareAndSet("a", "1", "2");
    try informant.metrics.counterAdd("sdk_total", .{ .language = "zig" }, 1);
    try informant.metrics.gaugeSet("sdk_gauge", .{}, 2);
    try informant.metrics.histogramObserve("sdk_seconds", .{}, 3);
    informant.workqueue.add(try event.key.text());
    log.info("used", .{
        .name = name,
        .none = none == null,
        .found = try found(event.key.namespace) > 3,
        .swapped = is_swapped,
        .value = try state.get("a"),
        .keys = (try state.keys("")).len,
        .pods = try indexer.count("v1/pods", null) > 0,
        .synced = try indexer.hasSynced("v1/pods"),
        .leader = informant.host_info.isLeader(),
        .plugin = informant.host_info.pluginName(),
        .old = event_data.json(.old) == null,
        .changed = event_data.changed("/metadata/name"),
        .refused = errorOf(indexer.get("v1/nothing", event.key)),
        .denied = errorOf(kube.patch(.{ .resource = "v1/pods", .key = event.key }, .merge, .{})),
        .noted = errorOf(kube.recordEvent(.{ .resource = "v1/pods", .key = event.key }, .{ .reason = "Used", .message = "by a test" })),
        .closed = errorOf(informant.http.send(.{ .url = "https://example.com", .headers = &.{.{ .name = "a", .value = "b" }} })),
    });
}

/// Counts the objects that four ways through the cache find.
fn found(namespace: []const u8) !usize {
    var count: usize = 0;
    var pods = indexer.list("v1/pods", .{ .namespace = namespace, .label_selector = "app", .limit = 2 });
    defer pods.deinit();
    while (try pods.next()) |_| count += 1;
    var indexed = indexer.byIndex("v1/pods", "app", "sdk");
    defer indexed.deinit();
    while (try indexed.next()) |_| count += 1;
    var keys = indexer.indexKeys("v1/pods", "app", "sdk");
    defer keys.deinit();
    while (try keys.next()) |key| count += @intFromBool(key.name.len > 0);
    var values = indexer.indexValues("v1/pods", "app");
    defer values.deinit();
    while (try values.next()) |_| count += 1;
    return count;
}

fn errorOf(result: anytype) ?anyerror {
    return if (result) |_| null else |err| err;
}

comptime {
    informant.plugin(Fails);
}

pub const panic = informant.panic;
pub const std_options = informant.std_options;
