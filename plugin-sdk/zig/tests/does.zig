//! Plugins for the tests: each does one thing with every event.
const informant = @import("../informant.zig");

pub const Told = fn (informant.Event) anyerror!void;

/// Subscribes to pods, with their old state and an index.
pub const pods: informant.Descriptor = .{
    .version = "1",
    .subscriptions = &.{.{ .resource = "v1/pods", .with_old = true }},
    .indexes = &.{.{ .resource = "v1/pods", .name = "app", .pointer = "/metadata/labels/app" }},
};

/// A plugin that calls this function for every event.
pub fn Does(comptime descriptor: informant.Descriptor, comptime told: Told) type {
    return struct {
        pub const describe = descriptor;

        pub fn handle(_: *@This(), event: informant.Event) !void {
            return told(event);
        }
    };
}

/// A pod in the namespace shop.
pub fn pod(comptime name: []const u8, comptime app: []const u8) []const u8 {
    const format =
        \\{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "name": "
    ;
    return format ++ name ++
        \\", "labels": {"app": "
    ++ app ++
        \\"}}, "spec": {"nodeName": "one"}}
    ;
}
