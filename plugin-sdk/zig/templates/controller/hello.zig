//! Hello warns of Deployments with unavailable replicas, again every 30 s.
const std = @import("std");
const informant = @import("sdk/zig/informant.zig");

const deployments = "apps/v1/deployments";

/// The fields of a Deployment that this plugin reads.
const Deployment = struct {
    spec: struct { replicas: u32 },
    status: struct { availableReplicas: u32 = 0 } = .{},
};

const Watcher = struct {
    /// The host makes a key of every change: the namespace and name of the Deployment.
    pub const describe: informant.Descriptor = .{
        .version = "0.1.0",
        .subscriptions = &.{.{ .resource = deployments, .enqueue = &.{.{ .of = .self }} }},
    };

    pub fn start(_: informant.Config) !Watcher {
        return .{};
    }

    /// The result is the time until the key's next call, in milliseconds. A deleted Deployment is not in the cache.
    pub fn reconcile(_: *Watcher, key: []const u8, _: u32) !?u64 {
        const found = try informant.indexer.decode(Deployment, deployments, .parse(key)) orelse return null;
        const available, const wanted = .{ found.status.availableReplicas, found.spec.replicas };
        if (available >= wanted) return null;
        const of = try std.fmt.allocPrint(informant.arena, "{d} of {d}", .{ available, wanted });
        informant.log.warn("replicas are unavailable", .{ .deployment = key, .available = of });
        return 30_000;
    }
};

comptime {
    informant.plugin(Watcher);
}

pub const panic = informant.panic;
pub const std_options = informant.std_options;

fn web(available: u32) struct {
    metadata: struct { namespace: []const u8 = "shop", name: []const u8 = "web" } = .{},
    spec: struct { replicas: u32 = 3 } = .{},
    status: struct { availableReplicas: u32 },
} {
    return .{ .status = .{ .availableReplicas = available } };
}

test "unavailable replicas are warned of again" {
    var host = try informant.testing.Host(Watcher).start(.{});
    defer host.deinit();
    try host.add(deployments, web(1));
    try host.reconcile();
    try host.expectLog(&.{"warn replicas are unavailable deployment=shop/web available=1 of 3"});
    try std.testing.expectEqual(30_000, host.keys()[0].after_ms);
}

test "available replicas and deleted Deployments are not warned of" {
    var host = try informant.testing.Host(Watcher).start(.{});
    defer host.deinit();
    try host.add(deployments, web(3));
    try host.reconcile();
    try host.delete(deployments, web(3));
    try host.reconcile();
    try host.expectLog(&.{});
}
