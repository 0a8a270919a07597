//! Reads of the cache, over pages.
const std = @import("std");
const informant = @import("../informant.zig");
const memory = @import("../memory.zig");
const does = @import("does.zig");
const indexer = informant.indexer;

/// A host with the pods web, db and cache. The tested call gets the event of a fourth pod.
fn check(comptime told: does.Told, lines: []const []const u8) !void {
    var host = try informant.testing.Host(does.Does(does.pods, told)).start(.{});
    defer host.deinit();
    host.put("v1/pods", does.pod("web", "shop"));
    host.put("v1/pods", does.pod("db", "shop"));
    host.put("v1/pods", does.pod("cache", "other"));
    try host.add("v1/pods", does.pod("new", "new"));
    try host.expectLog(lines);
}

fn name(json: []const u8) ![]const u8 {
    const Pod = struct { metadata: struct { name: []const u8 } };
    return (try informant.json.decode(Pod, json)).metadata.name;
}

fn gets(event: informant.Event) !void {
    const web: informant.Key = .{ .namespace = event.key.namespace, .name = "web" };
    const none: informant.Key = .{ .name = "none" };
    const fields = (try indexer.fields("v1/pods", web, &.{ "/metadata/labels/app", "/none" })).?;
    informant.log.info("got", .{
        .web = try name((try indexer.get("v1/pods", web)).?),
        .none = try indexer.get("v1/pods", none),
        .decoded = (try indexer.decode(struct { kind: []const u8 }, "v1/pods", web)).?.kind,
        .app = fields[0],
        .missing = fields[1],
        .nothing = (try indexer.fields("v1/pods", none, &.{"/a"})) == null,
        .here = try indexer.count("v1/pods", "shop"),
        .elsewhere = try indexer.count("v1/pods", "other"),
        .synced = try indexer.hasSynced("v1/pods"),
    });
}

test "one object, its fields and how many there are" {
    try check(gets, &.{
        "info got web=web none=none decoded=Pod app=\"shop\" missing=none nothing=true here=4 elsewhere=0 synced=true",
    });
}

fn lists(_: informant.Event) !void {
    inline for (.{ "", "app=shop", "app==shop,app=other" }) |selector| {
        var pods = indexer.list("v1/pods", .{ .namespace = "shop", .label_selector = selector, .limit = 1 });
        defer pods.deinit();
        while (try pods.next()) |pod| informant.log.info("listed", .{ .selector = selector, .name = try name(pod) });
    }
    var pods = indexer.byIndex("v1/pods", "app", "shop");
    defer pods.deinit();
    while (try pods.next()) |pod| informant.log.info("indexed", .{ .name = try name(pod) });
    var keys = indexer.indexKeys("v1/pods", "app", "shop");
    defer keys.deinit();
    while (try keys.next()) |key| informant.log.info("key", .{ .key = key });
    var values = indexer.indexValues("v1/pods", "app");
    defer values.deinit();
    while (try values.next()) |value| informant.log.info("value", .{ .value = value });
}

test "lists and indexes come in the order of keys" {
    try check(lists, &.{
        "info listed selector= name=cache",
        "info listed selector= name=db",
        "info listed selector= name=new",
        "info listed selector= name=web",
        "info listed selector=app=shop name=db",
        "info listed selector=app=shop name=web",
        "info indexed name=db",
        "info indexed name=web",
        "info key key=shop/db",
        "info key key=shop/web",
        "info value value=new",
        "info value value=other",
        "info value value=shop",
    });
}

fn leaves(_: informant.Event) !void {
    var pods = indexer.list("v1/pods", .{ .limit = 1 });
    _ = try pods.next();
    var others = indexer.list("v1/pods", .{ .limit = 1 });
    _ = try others.next();
    informant.log.info("left", .{});
}

test "an iterator may be left, and needs no deinit" {
    try check(leaves, &.{"info left"});
}

const many = 2000;

fn sums(_: informant.Event) !void {
    const held = memory.heldByCall();
    var count: usize = 0;
    var last: usize = 0;
    var pods = indexer.list("v1/pods", .{ .limit = 10 });
    defer pods.deinit();
    while (try pods.next()) |pod| {
        // Pages must not be mixed up with earlier or later ones.
        const scope = try informant.Scope.begin();
        defer scope.end();
        const number = try std.fmt.parseInt(usize, (try name(pod))[1..], 10);
        if (number < last) return informant.fail("{d} after {d}", .{ number, last });
        last = number;
        count += 1;
    }
    informant.log.info("through", .{ .count = count, .grown = memory.heldByCall() - held });
}

test "a large cache is gone through with room for one page" {
    var host = try informant.testing.Host(does.Does(does.pods, sums)).start(.{});
    defer host.deinit();
    var room: [32]u8 = undefined;
    for (10_000..10_000 + many) |number| {
        const padding: [1000]u8 = @splat('x');
        const pod = try std.fmt.bufPrint(&room, "p{d}", .{number});
        host.put("v1/pods", .{ .metadata = .{ .name = pod }, .padding = @as([]const u8, &padding) });
    }
    try host.add("v1/pods", .{ .metadata = .{ .name = "p20000" } });
    try host.expectLog(&.{"info through count=2001 grown=0"});
}

/// The error of a refused read.
fn checkRefused(comptime read: does.Told, expected: anyerror, words: []const u8) !void {
    const tries = struct {
        fn told(event: informant.Event) !void {
            read(event) catch |err| return informant.fail("{t}: {s}", .{ err, informant.message(err) });
        }
    }.told;
    var host = try informant.testing.Host(does.Does(does.pods, tries)).start(.{});
    defer host.deinit();
    host.setUnsynced("v1/pods");
    const message = try std.fmt.allocPrint(std.testing.allocator, "{t}: the cache was not read: {t}: {s}", .{ expected, expected, words });
    defer std.testing.allocator.free(message);
    try host.expectFailure(host.add("v1/pods", does.pod("web", "a")), message, .backoff);
}

fn foreign(_: informant.Event) !void {
    var secrets = indexer.list("v1/secrets", .{});
    _ = try secrets.next();
}

fn unindexed(_: informant.Event) !void {
    var keys = indexer.indexKeys("v1/pods", "zone", "a");
    _ = try keys.next();
}

fn unsynced(_: informant.Event) !void {
    _ = try indexer.get("v1/pods", .{ .name = "none" });
}

fn unselected(_: informant.Event) !void {
    var pods = indexer.list("v1/pods", .{ .label_selector = "app in (a)" });
    _ = try pods.next();
}

test "what is refused says why" {
    const granted = "the descriptor neither subscribes to v1/secrets nor reads it";
    try checkRefused(foreign, error.NotGranted, granted);
    try checkRefused(unindexed, error.UnknownIndex, "zone");
    try checkRefused(unsynced, error.NotSynced, "the first list of v1/pods is not complete");
    try checkRefused(unselected, error.Invalid, "tests know selectors of the form a=b,c=d, not app in (a)");
}
