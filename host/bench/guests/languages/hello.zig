//! Hello says each pod's phase.
const informant = @import("sdk/zig/informant.zig");

const Pod = struct { status: struct { phase: []const u8 = "" } = .{} };

const Hello = struct {
    pub const describe: informant.Descriptor = .{ .version = "0.1.0", .subscriptions = &.{.{ .resource = "v1/pods" }} };

    pub fn handle(_: *Hello, event: informant.Event) !void {
        const pod = try event.decode(Pod);
        informant.log.print(.info, "hello: pod {f} is {s}", .{ event.key, pod.status.phase });
    }
};

comptime {
    informant.plugin(Hello);
}

pub const panic = informant.panic;
pub const std_options = informant.std_options;
