//! Facts about the host and this instance.
const abi = @import("abi.zig");
const host = @import("imports.zig").host.host_info;

/// Whether this host leads. Always true without an election.
pub fn isLeader() bool {
    return host.@"is-leader"() != 0;
}

/// The plugin file's name without `.wasm`.
pub fn pluginName() []const u8 {
    var answer: abi.Text = undefined;
    host.@"plugin-name"(&answer);
    return answer.slice();
}

/// One of the plugin's instances.
pub const Shard = struct { number: u32, count: u32 };

/// This instance's number, from 0, and the number of instances.
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
