//! Hello counts the pending pods, every minute.
const std = @import("std");
const informant = @import("sdk/zig/informant.zig");

const pods = "v1/pods";

/// The fields of a Pod that this plugin reads.
const Pod = struct { status: struct { phase: []const u8 = "" } = .{} };

const Counter = struct {
    pub const describe: informant.Descriptor = .{
        .version = "0.1.0",
        .reads = &.{.{ .resource = pods }},
        .schedules = &.{.{ .name = "minute", .when = .{ .every = "1m" } }},
    };

    pub fn start(_: informant.Config) !Counter {
        return .{};
    }

    pub fn fire(_: *Counter, _: []const u8, _: u64) !void {
        var count: u32 = 0;
        var all = informant.indexer.list(pods, .{});
        defer all.deinit();
        while (try all.next()) |text| {
            const pod = try informant.json.decode(Pod, text);
            if (std.mem.eql(u8, pod.status.phase, "Pending")) count += 1;
        }
        informant.log.info("pending pods", .{ .count = count });
    }
};

comptime {
    informant.plugin(Counter);
}

pub const panic = informant.panic;
pub const std_options = informant.std_options;

test "pending pods are counted" {
    var host = try informant.testing.Host(Counter).start(.{});
    defer host.deinit();
    inline for (.{ .{ "a", "Pending" }, .{ "b", "Running" }, .{ "c", "Pending" } }) |pod| {
        host.put(pods, .{ .metadata = .{ .namespace = "shop", .name = pod[0] }, .status = .{ .phase = pod[1] } });
    }
    try host.fire("minute", 0);
    try host.expectLog(&.{"info pending pods count=2"});
}
