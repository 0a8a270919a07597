//! JSON pointers.
const std = @import("std");
const pointers = @import("../testing/pointer.zig");
const worlds = @import("../testing/world.zig");

const object =
    \\{"a": {"b/c": 1, "d~e": 2, "": 3}, "list": [{"x": "one"}, {"x": "two"}, {}]}
;

fn check(pointer: []const u8, expect: ?[]const u8) !void {
    defer worlds.reset();
    const value = try std.json.parseFromSliceLeaky(std.json.Value, worlds.memory, object, .{});
    const found = pointers.at(value, pointer);
    if (expect == null) return std.testing.expect(found == null);
    try std.testing.expectEqualStrings(expect.?, worlds.jsonOf(found.?));
}

fn checkAll(pointer: []const u8, expect: []const u8) !void {
    defer worlds.reset();
    const value = try std.json.parseFromSliceLeaky(std.json.Value, worlds.memory, object, .{});
    var found: std.ArrayList(std.json.Value) = .empty;
    try pointers.all(worlds.memory, value, pointer, &found);
    try std.testing.expectEqualStrings(expect, worlds.jsonOf(found.items));
}

test "a pointer leads to one value" {
    try check("/a/b~1c", "1");
    try check("/a/d~0e", "2");
    try check("/a/", "3");
    try check("/list/1/x", "\"two\"");
    try check("/list/3", null);
    try check("/list/x", null);
    try check("/a/b/c", null);
    try check("/a/b~1c/more", null);
}

test "a star leads to every member" {
    try checkAll("/list/*/x", "[\"one\",\"two\"]");
    try checkAll("/a/*", "[1,2,3]");
    try checkAll("/list/0/x", "[\"one\"]");
    try checkAll("/none/*", "[]");
}
