//! The possible declarations of a plugin.
const std = @import("std");
const informant = @import("../informant.zig");
const mistake = @import("../declarations.zig").mistake;

/// Checks the text with which a plugin is refused. Null for a valid plugin.
fn check(comptime Plugin: type, words: ?[]const u8) !void {
    try std.testing.expectEqualDeep(words, comptime mistake(Plugin));
}

const rule: informant.Subscription = .{ .resource = "v1/pods", .enqueue = &.{.{ .of = .self }} };
const tick: informant.Schedule = .{ .name = "tick", .when = .{ .every = "1s" } };

/// A plugin with this descriptor that handles events.
fn Handles(comptime subscriptions: []const informant.Subscription, comptime schedules: []const informant.Schedule) type {
    return struct {
        pub const describe: informant.Descriptor = .{ .version = "1", .subscriptions = subscriptions, .schedules = schedules };
        pub fn handle(_: *@This(), _: informant.Event) !void {}
    };
}

/// A plugin with additional functions.
const Helped = struct {
    pub const describe: informant.Descriptor = .{ .version = "1" };
    pub fn handle(_: *Helped, _: informant.Event) !void {}
    pub fn handleAll(_: *Helped) void {}
    /// No call of the host has these parameters.
    pub fn stops(_: u32) void {}
    /// A private function may have any name.
    fn fired(_: *Helped) void {}
};

const Starts = struct {
    pub const describe: informant.Descriptor = .{ .version = "1" };
    pub fn strat(_: informant.Config) !Starts {
        return .{};
    }
    pub fn handle(_: *Starts, _: informant.Event) !void {}
};

const Snyced = struct {
    pub const describe: informant.Descriptor = .{ .version = "1" };
    pub fn handle(_: *Snyced, _: informant.Event) !void {}
    pub fn snyced(_: *Snyced, _: u32) !void {}
};

const Restors = struct {
    pub const describe: informant.Descriptor = .{ .version = "1" };
    pub fn handle(_: *Restors, _: informant.Event) !void {}
    pub fn restor(_: *Restors, _: []const u8, _: []const u8) !void {}
};

const Handless = struct {
    pub const describe: informant.Descriptor = .{ .version = "1" };
    pub fn handles(_: Handless, _: informant.Event) !void {}
};

const Hidden = struct {
    pub const describe: informant.Descriptor = .{ .version = "1" };
    pub fn handle(_: *Hidden, _: informant.Event) !void {}
    pub fn restore(_: *Hidden, _: []const u8, _: []const u8) !void {}
    fn snapshot(_: *Hidden) !?[]const u8 {
        return null;
    }
};

const Reconciles = struct {
    pub const describe: informant.Descriptor = .{ .version = "1", .subscriptions = &.{.{ .resource = "v1/pods" }} };
    pub fn reconcile(_: *Reconciles, _: []const u8, _: u32) !?u64 {
        return null;
    }
};

test "a name that is almost one of the contract's is refused" {
    const end = ", or leave out `pub` if it is your own";
    try check(Starts, "has a `pub fn strat`, which nothing calls: name it `start`" ++ end);
    try check(Snyced, "has a `pub fn snyced`, which nothing calls: name it `synced`" ++ end);
    try check(Restors, "has a `pub fn restor`, which nothing calls: name it `restore`" ++ end);
    try check(Handless, "has a `pub fn handles`, which nothing calls: name it `handle`" ++ end);
    try check(Helped, null);
}

test "what a descriptor asks for has to be there" {
    try check(Handles(&.{.{ .resource = "v1/pods" }}, &.{}), null);
    try check(Handles(&.{rule}, &.{}), "subscribes to v1/pods, and has no `pub fn reconcile` that is called for it");
    try check(Handles(&.{}, &.{tick}), "has `schedules`, and no `pub fn fire` that they would call");
    try check(Reconciles, "subscribes to v1/pods, and has no `pub fn handle` that is called for it");
}

test "what belongs together is there together" {
    try check(Hidden, "needs both of `pub fn snapshot` and `restore`, or neither");
    try check(struct {}, "does not say what it wants: declare `pub const describe: informant.Descriptor`, or a function of that name");
    const Idle = struct {
        pub const describe: informant.Descriptor = .{ .version = "1" };
    };
    try check(Idle, "does nothing: declare one of `pub fn handle`, `reconcile` and `fire`");
}
