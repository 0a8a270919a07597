//! Lines in the form for the host.
const std = @import("std");
const informant = @import("../informant.zig");
const does = @import("does.zig");

/// Checks the log of a plugin that calls this function for a pod.
fn check(comptime told: does.Told, lines: []const []const u8) !void {
    var host = try informant.testing.Host(does.Does(does.pods, told)).start(.{});
    defer host.deinit();
    try host.add("v1/pods", does.pod("web", "a"));
    try host.expectLog(lines);
}

test "fields are texts, numbers, words and what prints itself" {
    const logs = struct {
        fn told(event: informant.Event) !void {
            const none: ?u8 = null;
            const runtime: []const u8 = event.key.name;
            informant.log.info("seen", .{
                .key = event.key,
                .change = event.change,
                .name = runtime,
                .literal = "text",
                .count = 3,
                .share = 0.5,
                .ready = true,
                .failed = error.Broken,
                .none = none,
                .gone = event.gone,
            });
            informant.log.trace("a", .{});
            informant.log.debug("b", .{});
            informant.log.warn("c", .{});
            informant.log.err("d", .{});
            informant.log.print(.info, "{d} of {s}", .{ 1, "two" });
        }
    }.told;
    try check(logs, &.{
        "info seen key=shop/web change=added name=web literal=text count=3 share=0.5 ready=true failed=Broken none=none gone=none",
        "trace a",
        "debug b",
        "warn c",
        "error d",
        "info 1 of two",
    });
}

test "bytes that are no text are replaced" {
    const logs = struct {
        fn told(_: informant.Event) !void {
            informant.log.info("a\xffb", .{ .value = "\xc0c" });
        }
    }.told;
    try check(logs, &.{"info a\u{fffd}b value=\u{fffd}c"});
}

test "what is too long is cut between characters" {
    const logs = struct {
        fn told(_: informant.Event) !void {
            const long: [6000][3]u8 = @splat("€".*);
            informant.log.print(.info, "{s}", .{@as([*]const u8, @ptrCast(&long))[0..18_000]});
        }
    }.told;
    const whole: [5461][3]u8 = @splat("€".*);
    const text = @as([*]const u8, @ptrCast(&whole))[0 .. 3 * whole.len];
    const line = try std.fmt.allocPrint(std.testing.allocator, "info {s}", .{text});
    defer std.testing.allocator.free(line);
    try check(logs, &.{line});
}
