//! Writes to the cluster and requests over HTTP.
const std = @import("std");
const informant = @import("../informant.zig");
const does = @import("does.zig");
const http = informant.http;
const kube = informant.kube;
const testing = informant.testing;

fn writes(event: informant.Event) !void {
    const pod: kube.Object = .{ .resource = "v1/pods", .key = event.key };
    const status: kube.Object = .{ .resource = "v1/pods", .key = event.key, .subresource = "status" };
    _ = try kube.create(pod, .{ .a = 1, .none = @as(?u8, null) });
    _ = try kube.update(status, "{\"b\": 2}");
    inline for (.{ .json_patch, .merge, .strategic, .apply, .force_apply }) |kind| _ = try kube.patch(pod, kind, .{});
    try kube.delete(pod, "u-1");
    try kube.recordEvent(pod, .{ .reason = "Seen", .message = "by a test" });
    informant.log.info("written", .{ .answer = try kube.patch(pod, .merge, .{}) });
}

fn echo(write: testing.Write) testing.WriteAnswer {
    return .{ .object = write.verb };
}

test "what is written is written down" {
    var host = try testing.Host(does.Does(does.pods, writes)).start(.{});
    defer host.deinit();
    host.answerWrites(echo);
    try host.add("v1/pods", does.pod("web", "a"));
    const expected = [_][4][]const u8{
        .{ "create", "none", "", "{\"a\":1}" },
        .{ "update", "none", "status", "{\"b\": 2}" },
        .{ "patch", "json_patch", "", "{}" },
        .{ "patch", "merge", "", "{}" },
        .{ "patch", "strategic", "", "{}" },
        .{ "patch", "apply", "", "{}" },
        .{ "patch", "force_apply", "", "{}" },
        .{ "delete", "none", "", "u-1" },
        .{ "record-event", "none", "", "Seen: by a test" },
        .{ "patch", "merge", "", "{}" },
    };
    for (expected, host.writes()) |want, write| {
        try std.testing.expectEqualStrings(want[0], write.verb);
        try std.testing.expectEqualStrings(want[1], if (write.patch_type) |patch_type| @tagName(patch_type) else "none");
        try std.testing.expectEqualStrings(want[2], write.object.subresource);
        try std.testing.expectEqualStrings(want[3], write.body);
        try std.testing.expectEqualStrings("web", write.object.key.name);
    }
    try host.expectLog(&.{"info written answer=patch"});
}

fn refused(event: informant.Event) !void {
    _ = kube.patch(.{ .resource = "v1/pods", .key = event.key }, .merge, .{}) catch |err| {
        informant.log.info("refused", .{ .err = err, .code = if (kube.status()) |status| status.code else null });
        return err;
    };
}

fn checkWrite(comptime answer: testing.WriteAnswer, err: []const u8, message: []const u8, retry: informant.Retry) !void {
    const answers = struct {
        fn ask(_: testing.Write) testing.WriteAnswer {
            return answer;
        }
    };
    var host = try testing.Host(does.Does(does.pods, refused)).start(.{});
    defer host.deinit();
    host.answerWrites(answers.ask);
    try host.expectFailure(host.add("v1/pods", does.pod("web", "a")), message, retry);
    const line = try std.fmt.allocPrint(std.testing.allocator, "info refused err={s}", .{err});
    defer std.testing.allocator.free(line);
    try host.expectLog(&.{line});
}

test "a refused write is an error by its kind, with the host's words" {
    const status: kube.Status = .{ .code = 409, .reason = "Conflict", .message = "changed", .retry_after_ms = null };
    try checkWrite(.{ .status = status }, "Conflict code=409", "not written: 409 Conflict: changed", .backoff);
    const missing: kube.Status = .{ .code = 404, .reason = "NotFound", .message = "gone", .retry_after_ms = null };
    try checkWrite(.{ .status = missing }, "NotFound code=404", "not written: 404 NotFound: gone", .backoff);
    const busy: kube.Status = .{ .code = 429, .reason = "TooManyRequests", .message = "busy", .retry_after_ms = 2000 };
    try checkWrite(.{ .status = busy }, "Refused code=429", "not written: 429 TooManyRequests: busy", .{ .after_ms = 2000 });
    try checkWrite(.{ .not_granted = "ask" }, "NotGranted code=none", "not written: not granted: ask", .backoff);
    try checkWrite(.not_leader, "NotLeader code=none", "not written: another replica of the host writes", .backoff);
    try checkWrite(.{ .invalid = "no name" }, "Invalid code=none", "not written: no name", .backoff);
    try checkWrite(.{ .no_answer = "cut" }, "NoAnswer code=none", "no answer to a write: cut", .backoff);
}

test "a test that answers nothing grants nothing" {
    var host = try testing.Host(does.Does(does.pods, refused)).start(.{});
    defer host.deinit();
    const words = "not written: not granted: the test answers no writes: call answerWrites";
    try host.expectFailure(host.add("v1/pods", does.pod("web", "a")), words, .backoff);
}

fn asks(_: informant.Event) !void {
    const response = try http.send(.{
        .method = .POST,
        .url = "https://example.com/x",
        .headers = &.{.{ .name = "a", .value = "b" }},
        .body = "hello",
        .timeout_ms = 50,
    });
    informant.log.info("answered", .{ .status = response.status, .a = response.header("a"), .b = response.header("b"), .body = response.body });
}

fn respond(request: http.Request) testing.Answer {
    const is_it = request.method == .POST and request.timeout_ms == 50 and std.mem.eql(u8, request.body, "hello");
    return .{ .response = .{
        .status = if (is_it) 200 else 400,
        .headers = &.{ .{ .name = "a", .value = "1" }, .{ .name = "a", .value = "2" } },
        .body = request.headers[0].value,
    } };
}

test "a request is answered" {
    var host = try testing.Host(does.Does(does.pods, asks)).start(.{});
    defer host.deinit();
    host.answerRequests(respond);
    try host.add("v1/pods", does.pod("web", "a"));
    try host.expectLog(&.{"info answered status=200 a=1 b=none body=b"});
    try std.testing.expectEqualStrings("https://example.com/x", host.requests()[0].url);
}

fn checkRequest(comptime answer: testing.Answer, message: []const u8) !void {
    const answers = struct {
        fn ask(_: http.Request) testing.Answer {
            return answer;
        }
    };
    var host = try testing.Host(does.Does(does.pods, asks)).start(.{});
    defer host.deinit();
    host.answerRequests(answers.ask);
    try host.expectFailure(host.add("v1/pods", does.pod("web", "a")), message, .backoff);
}

test "a request without an answer is an error by its kind" {
    try checkRequest(.{ .not_granted = "ask" }, "no answer over HTTP: NotGranted: ask");
    try checkRequest(.not_leader, "no answer over HTTP: NotLeader: another replica of the host acts");
    try checkRequest(.{ .invalid = "a" }, "no answer over HTTP: Invalid: a");
    try checkRequest(.{ .timed_out = "b" }, "no answer over HTTP: TimedOut: b");
    try checkRequest(.{ .too_large = "c" }, "no answer over HTTP: TooLarge: c");
    try checkRequest(.{ .no_answer = "d" }, "no answer over HTTP: NoAnswer: d");
}
