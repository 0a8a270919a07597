//! JSON pointers (RFC 6901), and `*` as in the descriptor's indexes.
const std = @import("std");
const worlds = @import("world.zig");
const Value = std.json.Value;

/// The value at a pointer, or null.
pub fn at(value: Value, pointer: []const u8) ?Value {
    var found = value;
    var steps = std.mem.splitScalar(u8, pointer, '/');
    _ = steps.next();
    while (steps.next()) |step| found = into(found, step) orelse return null;
    return found;
}

/// Whether two objects have different values at a pointer.
pub fn differs(one: Value, other: Value, pointer: []const u8) bool {
    const here, const there = .{ at(one, pointer), at(other, pointer) };
    if (here == null or there == null) return (here == null) != (there == null);
    return !worlds.eql(worlds.jsonOf(here.?), worlds.jsonOf(there.?));
}

/// Every value at a pointer. `*` stands for every member.
pub fn all(memory: std.mem.Allocator, value: Value, pointer: []const u8, found: *std.ArrayList(Value)) error{OutOfMemory}!void {
    if (pointer.len == 0) return found.append(memory, value);
    const end = std.mem.indexOfScalarPos(u8, pointer, 1, '/') orelse pointer.len;
    const rest = pointer[end..];
    if (into(value, pointer[1..end])) |one| return all(memory, one, rest, found);
    if (!std.mem.eql(u8, pointer[1..end], "*")) return;
    switch (value) {
        .object => |members| for (members.values()) |one| try all(memory, one, rest, found),
        .array => |members| for (members.items) |one| try all(memory, one, rest, found),
        else => {},
    }
}

fn into(value: Value, step: []const u8) ?Value {
    switch (value) {
        .object => |members| {
            for (members.keys(), members.values()) |key, member| if (spells(step, key)) return member;
            return null;
        },
        .array => |members| {
            const place = std.fmt.parseInt(usize, step, 10) catch return null;
            return if (place < members.items.len) members.items[place] else null;
        },
        else => return null,
    }
}

/// Whether a step stands for a key: `~1` means a slash, and `~0` a tilde.
fn spells(step: []const u8, key: []const u8) bool {
    var rest = step;
    for (key) |letter| {
        const spelt = switch (letter) {
            '/' => "~1",
            '~' => "~0",
            else => &[1]u8{letter},
        };
        if (!std.mem.startsWith(u8, rest, spelt)) return false;
        rest = rest[spelt.len..];
    }
    return rest.len == 0;
}
