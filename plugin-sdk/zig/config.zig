//! The plugin's section of the host's configuration.
const std = @import("std");
const json = @import("json.zig");
const memory = @import("memory.zig");

/// `config` of the plugin's configuration, as JSON.
pub const Config = struct {
    json: []const u8,

    /// Decodes the configuration into a struct. Fields that may be missing need defaults. A key that the struct does
    /// not have is an error, because it is a mistake in the configuration. The result stays, in memory of
    /// `informant.allocator`.
    pub fn decode(config: Config, comptime T: type) json.DecodeError!T {
        const text = std.mem.trim(u8, config.json, " \t\r\n");
        const options: std.json.ParseOptions = .{ .allocate = .alloc_always };
        const said = if (text.len == 0) "{}" else text;
        return json.decodeWith(T, said, memory.allocator, options, "the plugin's configuration", .never);
    }
};
