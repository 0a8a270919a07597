//! Who and where the plugin is.
const abi = @import("abi.zig");
const host = @import("imports.zig").host.host_info;

/// Whether this host is the one that runs the plugins and writes. Where no hosts are elected it always is.
pub fn isLeader() bool {
    return host.@"is-leader"() != 0;
}

/// The plugin file's name without `.wasm`.
pub fn pluginName() []const u8 {
    var answer: abi.Text = undefined;
    host.@"plugin-name"(&answer);
    return answer.slice();
}

/// One of the instances in which the plugin runs.
pub const Shard = struct { number: u32, count: u32 };

/// This instance's number, from 0, and how many there are.
pub fn shard() Shard {
    var answer: [2]u32 = undefined;
    host.shard(&answer);
    return .{ .number = answer[0], .count = answer[1] };
}

/// The version of the host's program.
pub fn hostVersion() []const u8 {
    var answer: abi.Text = undefined;
    host.@"host-version"(&answer);
    return answer.slice();
}
