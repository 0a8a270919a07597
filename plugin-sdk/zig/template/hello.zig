//! Hello greets every pod.
const informant = @import("sdk/zig/informant.zig");

const Hello = struct {
    greeting: []const u8 = "hello",

    pub const describe: informant.Descriptor = .{
        .version = "0.1.0",
        .subscriptions = &.{.{ .resource = "v1/pods" }},
    };

    pub fn start(config: informant.Config) !Hello {
        return config.decode(Hello);
    }

    pub fn handle(hello: *Hello, event: informant.Event) !void {
        informant.log.info(hello.greeting, .{ .change = event.change, .pod = event.key });
    }
};

comptime {
    informant.plugin(Hello);
}

pub const panic = informant.panic;
pub const std_options = informant.std_options;

test "every pod is greeted" {
    var host = try informant.testing.Host(Hello).start(.{ .greeting = "good morning" });
    defer host.deinit();
    const pod = .{ .metadata = .{ .namespace = "default", .name = "web" } };
    try host.add("v1/pods", pod);
    try host.delete("v1/pods", pod);
    try host.expectLog(&.{
        "info good morning change=added pod=default/web",
        "info good morning change=deleted pod=default/web",
    });
}
