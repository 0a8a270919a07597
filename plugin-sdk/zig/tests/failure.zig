//! Errors in the form for the host.
const std = @import("std");
const informant = @import("../informant.zig");
const does = @import("does.zig");

fn check(comptime told: does.Told, message: []const u8, retry: informant.Retry) !void {
    var host = try informant.testing.Host(does.Does(does.pods, told)).start(.{});
    defer host.deinit();
    // Twice: the second call must not see the first one's error.
    for (0..2) |_| try host.expectFailure(host.add("v1/pods", does.pod("web", "a")), message, retry);
}

fn plain(_: informant.Event) !void {
    return error.NoZone;
}

fn fails(event: informant.Event) !void {
    return informant.fail("no zone in {s}", .{event.key.name});
}

fn never(event: informant.Event) !void {
    return informant.never("no zone in {s}", .{event.key.name});
}

fn later(_: informant.Event) !void {
    return informant.after(1500, "busy", .{});
}

fn caught(_: informant.Event) !void {
    informant.never("nobody hears this", .{}) catch return error.NoZone;
}

fn unread(event: informant.Event) !void {
    _ = try informant.indexer.get("v1/secrets", event.key);
}

fn caughtAndOwn(event: informant.Event) !void {
    _ = informant.indexer.get("v1/secrets", event.key) catch |err| return informant.never("{s}", .{informant.message(err)});
}

fn inScope(event: informant.Event) !void {
    const scope = try informant.Scope.begin();
    defer {
        scope.end();
        // Overwrites the memory of the scope.
        const filler = informant.allocator.alloc(u8, 64 << 10) catch unreachable;
        @memset(filler, 'x');
    }
    _ = try informant.indexer.get("v1/secrets", event.key);
}

fn noText(_: informant.Event) !void {
    return informant.fail("a\xffb", .{});
}

fn misfit(event: informant.Event) !void {
    _ = try event.decode(Labelled);
}

const Labelled = struct { metadata: struct { labels: []const u8 } };

test "an error is its name, and comes again with growing waits" {
    try check(plain, "NoZone", .backoff);
}

test "a plugin says more of an error" {
    try check(fails, "no zone in web", .backoff);
    try check(never, "no zone in web", .never);
    try check(later, "busy", .{ .after_ms = 1500 });
}

test "what was said of one error is not said of another" {
    try check(caught, "NoZone", .backoff);
}

test "the host's own words are the message" {
    const words = "the cache was not read: NotGranted: the descriptor neither subscribes to v1/secrets nor reads it";
    try check(unread, words, .backoff);
    try check(inScope, words, .backoff);
    try check(caughtAndOwn, words, .never);
}

test "a message is a text, whatever was in it" {
    try check(noText, "a\u{fffd}b", .backoff);
}

test "an object that does not fit says where" {
    var host = try informant.testing.Host(does.Does(does.pods, misfit)).start(.{});
    defer host.deinit();
    const where = "UnexpectedToken before line 1, column 96, behind the key labels";
    const words = "the JSON does not fit " ++ @typeName(Labelled) ++ ": " ++ where;
    try host.expectFailure(host.add("v1/pods", does.pod("web", "a")), words, .backoff);
}
