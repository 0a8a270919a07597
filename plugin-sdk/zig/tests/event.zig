//! Events and their objects.
const std = @import("std");
const informant = @import("../informant.zig");
const does = @import("does.zig");
const event_data = informant.event_data;

const Pod = struct {
    metadata: struct { name: []const u8, labels: struct { app: []const u8 = "" } = .{} },
    spec: ?struct { nodeName: []const u8 } = null,
};

fn logs(event: informant.Event) !void {
    const now: ?Pod = if (event.object != null or event.old != null) try event.decode(Pod) else null;
    const old = try event.decodeOld(Pod);
    informant.log.info("told", .{
        .change = event.change,
        .gone = event.gone,
        .app = if (now) |pod| pod.metadata.labels.app else null,
        .node = if (now) |pod| (if (pod.spec) |spec| spec.nodeName else null) else null,
        .old = if (old) |pod| pod.metadata.labels.app else null,
        .whole = (try event_data.decode(Pod, .new)) != null,
        .field = try event_data.field([]const u8, .new, "/metadata/labels/app"),
        .missing = (try event_data.fields(.new, &.{ "/metadata/name", "/none" }))[1],
        .changed = event_data.changed("/metadata/labels/app"),
        .same = event_data.changed("/metadata/name"),
    });
}

/// Checks the objects that a subscription delivers for an addition, an update and a deletion.
fn check(comptime subscription: informant.Subscription, lines: []const []const u8) !void {
    const descriptor: informant.Descriptor = .{ .version = "1", .subscriptions = &.{subscription} };
    var host = try informant.testing.Host(does.Does(descriptor, logs)).start(.{});
    defer host.deinit();
    try host.add("v1/pods", does.pod("web", "a"));
    try host.update("v1/pods", does.pod("web", "a"), does.pod("web", "b"));
    try host.delete("v1/pods", does.pod("web", "b"));
    try host.expectLog(lines);
}

test "a subscription says how much of the objects comes along" {
    try check(.{ .resource = "v1/pods", .with_old = true }, &.{
        "info told change=added gone=none app=a node=one old=none whole=true field=a missing=none changed=true same=true",
        "info told change=updated gone=none app=b node=one old=a whole=true field=b missing=none changed=true same=false",
        "info told change=deleted gone=deleted app=b node=one old=b whole=false field=none missing=none changed=true same=true",
    });
    try check(.{ .resource = "v1/pods", .delivery = .metadata }, &.{
        "info told change=added gone=none app=a node=none old=none whole=true field=a missing=none changed=true same=true",
        "info told change=updated gone=none app=b node=none old=none whole=true field=b missing=none changed=true same=false",
        "info told change=deleted gone=deleted app=b node=none old=b whole=false field=none missing=none changed=true same=true",
    });
    try check(.{ .resource = "v1/pods", .delivery = .lazy }, &.{
        "info told change=added gone=none app=none node=none old=none whole=true field=a missing=none changed=true same=true",
        "info told change=updated gone=none app=none node=none old=none whole=true field=b missing=none changed=true same=false",
        "info told change=deleted gone=deleted app=none node=none old=none whole=false field=none missing=none changed=true same=true",
    });
}

fn checkKey(text: []const u8, key: informant.Key) !void {
    try std.testing.expectEqualDeep(key, informant.Key.parse(text));
    try std.testing.expectFmt(text, "{f}", .{key});
}

test "a key is written as it is read" {
    try checkKey("shop/web", .{ .namespace = "shop", .name = "web" });
    try checkKey("node-1", .{ .name = "node-1" });
}

fn decodes(event: informant.Event) !void {
    _ = try event.decode(Pod);
}

test "an object that was not brought is not waited for" {
    const lazy: informant.Descriptor = .{ .version = "1", .subscriptions = &.{.{ .resource = "v1/pods", .delivery = .lazy }} };
    var host = try informant.testing.Host(does.Does(lazy, decodes)).start(.{});
    defer host.deinit();
    const words = "the event brought no object; read it with informant.event_data, or subscribe with full delivery";
    try host.expectFailure(host.add("v1/pods", does.pod("web", "a")), words, .never);
}
