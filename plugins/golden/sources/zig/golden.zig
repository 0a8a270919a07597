//! The golden plugin in Zig. Its twins in the other languages do the same, call by call. It is built as a project is, with the SDK in `sdk/zig`.
const std = @import("std");
const informant = @import("sdk/zig/informant.zig");
const event_data = informant.event_data;
const indexer = informant.indexer;
const log = informant.log;
const metrics = informant.metrics;
const state = informant.state;
const workqueue = informant.workqueue;

const pods = "v1/pods";
const app = "/metadata/labels/app";
const origin = "https://golden.example";

const Golden = struct {
    pub const describe: informant.Descriptor = .{
        .version = "0.1.0",
        .subscriptions = &.{
            .{ .resource = pods, .with_old = true },
            .{ .resource = "v1/configmaps", .enqueue = &.{.{ .of = .self, .prefix = "config/" }} },
        },
        .indexes = &.{.{ .resource = pods, .name = "app", .pointer = app }},
        .writes = &.{.{ .resource = pods, .verbs = &.{.patch} }},
        .http = &.{.{ .origins = &.{origin}, .methods = &.{.POST} }},
        .schedules = &.{.{ .name = "minutely", .when = .{ .every = "60s" } }},
    };

    pub fn start(config: informant.Config) !Golden {
        const options = try config.decode(struct { greeting: []const u8 });
        log.info("started", .{ .greeting = options.greeting });
        return .{};
    }

    pub fn handle(_: *Golden, event: informant.Event) !void {
        if (std.mem.eql(u8, event.key.name, "fails") and event.attempt == 1) return informant.after(50, "asked to fail", .{});
        if (std.mem.eql(u8, event.key.name, "gives-up")) return informant.never("asked to give up", .{});
        const old = word(event.old == null, "none", "there");
        log.info("told", .{ .change = event.change, .reason = event.reason, .key = event.key, .old = old });
        switch (event.change) {
            .added => try read(event),
            .updated => try write(event),
            .deleted => {},
        }
    }

    pub fn reconcile(_: *Golden, key: []const u8, attempt: u32) !?u64 {
        log.info("reconciled", .{ .key = key, .attempt = attempt, .waiting = workqueue.len() });
        const once = try std.fmt.allocPrint(informant.arena, "once/{s}", .{key});
        if (try state.get(once) != null) return null;
        try state.set(once, try informant.json.encode(attempt));
        return 1000;
    }

    pub fn fire(_: *Golden, schedule: []const u8, unix_ms: u64) !void {
        log.info("fired", .{ .schedule = schedule, .at = unix_ms });
    }

    pub fn synced(_: *Golden, subscription: u32) !void {
        log.info("synced", .{ .subscription = subscription });
    }

    pub fn snapshot(_: *Golden) !?[]const u8 {
        return "\"carried\"";
    }

    pub fn restore(_: *Golden, from_version: []const u8, _: []const u8) !void {
        log.info("restored", .{ .from = from_version });
    }

    pub fn stop(_: *Golden) void {
        log.info("stopped", .{});
    }
};

/// Everything that reads and counts.
fn read(event: informant.Event) !void {
    const name = try event_data.field([]const u8, .new, app) orelse "";
    const fields = (try indexer.fields(pods, event.key, &.{ app, "/none" })).?;
    const absent = try indexer.get(pods, .{ .namespace = "shop", .name = "absent" });
    const found = try std.fmt.allocPrint(informant.arena, "{d} {d} {d} {d} {d}", .{
        try countOf(indexer.list(pods, .{ .namespace = "shop", .label_selector = "app=web" })),
        try countOf(indexer.byIndex(pods, "app", "web")),
        try countOf(indexer.indexKeys(pods, "app", "web")),
        try countOf(indexer.indexValues(pods, "app")),
        try indexer.count(pods, null),
    });
    const is_synced = try indexer.hasSynced(pods);
    const known = try state.get("seen") orelse "0";
    const seen = try std.fmt.parseInt(u64, known, 10) + 1;
    try state.set("seen", try informant.json.encode(seen));
    const kept = (try state.keys("")).len;
    try metrics.counterAdd("golden_total", .{ .app = name }, 1);
    try metrics.gaugeSet("golden_pods", .{}, 2);
    try metrics.histogramObserve("golden_seconds", .{}, 0.5);
    workqueue.add(try event.key.text());
    log.info("read", .{
        .app = name,
        .found = found,
        .absent = word(absent == null and fields[1] == null, "none", "there"),
        .synced = word(is_synced, "yes", "no"),
        .seen = seen,
        .kept = kept,
        .plugin = informant.host_info.pluginName(),
    });
}

/// How many there are of what the cache answers in pages.
fn countOf(pages: anytype) !u32 {
    var all = pages;
    defer all.deinit();
    var count: u32 = 0;
    while (try all.next()) |_| count += 1;
    return count;
}

/// Everything that is sent.
fn write(event: informant.Event) !void {
    const changed = word(event_data.changed("/metadata/labels"), "changed", "the same");
    const patch = .{ .metadata = .{ .annotations = .{ .golden = "seen" } } };
    _ = try informant.kube.patch(.{ .resource = pods, .key = event.key }, .merge, patch);
    const answer = try informant.http.send(.{ .method = .POST, .url = origin ++ "/pods", .body = try event.key.text() });
    log.warn("sent", .{ .labels = changed, .status = answer.status, .answer = answer.body });
}

fn word(is: bool, yes: []const u8, no: []const u8) []const u8 {
    return if (is) yes else no;
}

comptime {
    informant.plugin(Golden);
}

pub const panic = informant.panic;
pub const std_options = informant.std_options;
