//! The README shows what works: its plugins are these.
const std = @import("std");
const informant = @import("../informant.zig");

const first = struct {
    // README.md, first:
    const Hello = struct {
        pub const describe: informant.Descriptor = .{ .version = "0.1.0", .subscriptions = &.{.{ .resource = "v1/pods" }} };

        pub fn handle(_: *Hello, event: informant.Event) !void {
            informant.log.info("pod", .{ .change = event.change, .key = event.key });
        }
    };
    // to here.
};

const everything = struct {
    // README.md, everything:
    const Counts = struct {
        worked: u32 = 0,

        pub const describe: informant.Descriptor = .{
            .version = "0.1.0",
            .subscriptions = &.{.{ .resource = "v1/pods", .enqueue = &.{.{ .of = .self }} }},
            .schedules = &.{.{ .name = "hourly", .when = .{ .cron = "0 * * * *" } }},
        };

        /// The host makes keys of the events, so there is no handle. The result is the time until the key's next call, in milliseconds.
        pub fn reconcile(counts: *Counts, key: []const u8, attempt: u32) !?u64 {
            const pod = try informant.indexer.decode(Pod, "v1/pods", .parse(key)) orelse return null;
            if (pod.spec.nodeName == null and attempt < 3) return informant.after(5000, "{s} is on no node yet", .{key});
            counts.worked += 1;
            return null;
        }
        const Pod = struct { spec: struct { nodeName: ?[]const u8 = null } = .{} };

        /// The first objects are through; the number is the subscription's place in the descriptor.
        pub fn synced(_: *Counts, _: u32) !void {
            informant.log.info("all are here", .{ .pods = try informant.indexer.count("v1/pods", null) });
        }

        /// Goes through a large cache a page at a time, until it has seen enough.
        pub fn fire(counts: *Counts, _: []const u8, _: u64) !void {
            var some: u32 = 0;
            var pods = informant.indexer.list("v1/pods", .{});
            defer pods.deinit();
            while (try pods.next()) |_| : (some += 1) if (some == 100) break;
            informant.log.info("so far", .{ .some = some, .worked = counts.worked });
        }

        /// Called on this version after the start of the next; `restore` is called on the next before any other call.
        pub fn snapshot(counts: *Counts) !?[]const u8 {
            return try informant.json.encode(counts.*);
        }
        pub fn restore(counts: *Counts, _: []const u8, data: []const u8) !void {
            counts.* = try informant.json.keep(Counts, data);
        }
    };
    // to here.
};

/// The lines between the two comments, as they stand in a file of their own, are in the README.
fn check(comptime what: []const u8) !void {
    const here = @embedFile("readme.zig");
    const begin = std.mem.indexOf(u8, here, "// README.md, " ++ what ++ ":\n").?;
    const start = std.mem.indexOfScalarPos(u8, here, begin, '\n').? + 1;
    const code = here[start..std.mem.indexOfPos(u8, here, start, "    // to here.").?];
    var shown: std.ArrayList(u8) = .empty;
    defer shown.deinit(std.testing.allocator);
    var lines = std.mem.splitScalar(u8, code[0 .. code.len - 1], '\n');
    while (lines.next()) |line| try shown.print(std.testing.allocator, "{s}\n", .{if (line.len > 4) line[4..] else line});
    if (std.mem.indexOf(u8, @embedFile("../README.md"), shown.items) == null) {
        std.debug.print("README.md does not have:\n{s}", .{shown.items});
        return error.NotInTheReadme;
    }
}

test "the README shows these plugins" {
    try check("first");
    try check("everything");
}

test "what the README shows first works" {
    var host = try informant.testing.Host(first.Hello).start(.{});
    defer host.deinit();
    try host.add("v1/pods", .{ .metadata = .{ .namespace = "shop", .name = "web" } });
    try host.expectLog(&.{"info pod change=added key=shop/web"});
}

test "everything that the README shows works" {
    var host = try informant.testing.Host(everything.Counts).start(.{});
    defer host.deinit();
    try host.add("v1/pods", .{ .metadata = .{ .namespace = "shop", .name = "web" }, .spec = .{ .nodeName = "one" } });
    host.put("v1/pods", .{ .metadata = .{ .namespace = "shop", .name = "new" } });
    try host.synced("v1/pods");
    host.enqueue("shop/gone");
    try host.reconcile();
    host.enqueue("shop/new");
    try host.expectFailure(host.reconcile(), "shop/new is on no node yet", .{ .after_ms = 5000 });
    try host.fire("hourly", 0);
    try std.testing.expectEqualStrings("{\"worked\":1}", (try host.snapshot()).?);
    try host.restore("0.1.0", "{\"worked\":5}");
    try std.testing.expectEqual(5, host.plugin().worked);
    try host.expectLog(&.{ "info all are here pods=2", "info so far some=2 worked=1" });
}
