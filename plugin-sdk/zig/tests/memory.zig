//! The lifetimes of memory.
const std = @import("std");
const informant = @import("../informant.zig");
const memory = @import("../memory.zig");

fn realloc(old: ?[]u8, alignment: usize, len: usize) []u8 {
    const ptr = if (old) |block| block.ptr else null;
    return memory.realloc(ptr, if (old) |block| block.len else 0, alignment, len)[0..len];
}

fn check(alignment: usize, len: usize) !void {
    const block = realloc(null, alignment, len);
    try std.testing.expectEqual(0, @intFromPtr(block.ptr) % alignment);
    @memset(block, 7);
}

test "the host is given what it asks for, also of size 0" {
    defer memory.endTest();
    for ([_]usize{ 1, 2, 4, 8 }) |alignment| {
        for ([_]usize{ 0, 1, 3, 100, 70_000, 8 << 20 }) |len| try check(alignment, len);
    }
}

test "what grows keeps what was in it" {
    defer memory.endTest();
    const block = realloc(null, 1, 3);
    @memcpy(block, "abc");
    try std.testing.expectEqualStrings("abc", realloc(block, 1, 5000)[0..3]);
    try std.testing.expectEqualStrings("ab", realloc(block, 1, 2));
}

test "the end of a call frees everything but what stays" {
    defer memory.endTest();
    const kept = try informant.allocator.dupe(u8, "kept");
    for (0..100) |_| {
        _ = try informant.arena.alloc(u8, 1 << 20);
        memory.endCall();
    }
    try std.testing.expect(memory.heldByCall() <= 64 << 10);
    try std.testing.expectEqualStrings("kept", kept);
}

test "a scope gives back what came in it, and nothing else" {
    defer memory.endTest();
    const before = try informant.arena.dupe(u8, "before");
    const outer = try informant.Scope.begin();
    const held = memory.heldByCall();
    for (0..100) |_| {
        const scope = try informant.Scope.begin();
        defer scope.end();
        _ = try informant.arena.alloc(u8, 1 << 20);
        _ = realloc(null, 1, 1 << 20);
    }
    try std.testing.expectEqual(held, memory.heldByCall());
    outer.end();
    try std.testing.expectEqualStrings("before", before);
}

test "a scope leaves alone what came before it" {
    defer memory.endTest();
    const before = try informant.arena.dupe(u8, "before");
    const other = try informant.arena.dupe(u8, "other");
    const scope = try informant.Scope.begin();
    defer scope.end();
    informant.arena.free(other);
    try std.testing.expect(informant.arena.resize(before, 3));
    try std.testing.expect(!informant.arena.resize(before, 30));
    const moved = try informant.arena.realloc(before, 3000);
    try std.testing.expectEqualStrings("before", moved[0..6]);
}

test "a scope that nobody ended ends with the call" {
    defer memory.endTest();
    _ = try informant.Scope.begin();
    _ = try informant.Scope.begin();
    memory.endCall();
    const block = try informant.arena.dupe(u8, "here");
    try std.testing.expect(memory.heldByCall() >= block.len);
}
