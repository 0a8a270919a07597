//! Configurations as structs.
const std = @import("std");
const informant = @import("../informant.zig");
const memory = @import("../memory.zig");
const failure = @import("../failure.zig");

const Options = struct { greeting: []const u8 = "hello", times: u8 = 1 };

/// The greeting, or the text of the error.
fn check(json: []const u8, greeting: []const u8) !void {
    defer memory.endTest();
    defer failure.forget();
    const config: informant.Config = .{ .json = json };
    const found = if (config.decode(Options)) |options| options.greeting else |err| informant.message(err);
    try std.testing.expectEqualStrings(greeting, found);
}

test "a configuration is strict, and nothing has to be said" {
    try check("", "hello");
    try check(" \n{}", "hello");
    try check("{\"greeting\": \"good day\"}", "good day");
    const begin = "the plugin's configuration does not fit tests.config.Options: ";
    try check("{\"greting\": \"x\"}", begin ++ "UnknownField before line 1, column 11, behind the key greting; its keys are greeting, times");
    try check("{\"greeting\": \"x\",\n \"times\": 300}", begin ++ "Overflow before line 2, column 14, behind the key times");
    try check("[", begin ++ "UnexpectedToken before line 1, column 2");
    // The error contains no values, and only those texts that are keys.
    try check("{\"greeting\": \"a: \\\"b\\\":\", \"times\": 300}", begin ++ "Overflow before line 1, column 39, behind the key times");
    try check("{\"times\": 300, \"greeting\": \"x\"}", begin ++ "Overflow before line 1, column 14, behind the key times");
}

test "what does not fit is not tried again" {
    defer memory.endTest();
    defer failure.forget();
    const config: informant.Config = .{ .json = "[]" };
    try std.testing.expectError(error.UnexpectedToken, config.decode(Options));
    try std.testing.expectEqual(informant.Retry.never, failure.of(error.UnexpectedToken).retry);
}

/// The decoded value outlives the text.
fn checkKept(comptime read: fn ([]const u8) informant.json.DecodeError!Options) !void {
    defer memory.endTest();
    const text = try memory.arena.dupe(u8, "{\"greeting\": \"good day\"}");
    const options = try read(text);
    @memset(text, ' ');
    memory.endCall();
    try std.testing.expectEqualStrings("good day", options.greeting);
}

fn fromConfig(text: []const u8) informant.json.DecodeError!Options {
    const config: informant.Config = .{ .json = text };
    return config.decode(Options);
}

fn kept(text: []const u8) informant.json.DecodeError!Options {
    return informant.json.keep(Options, text);
}

test "what is to stay outlives the call" {
    try checkKept(fromConfig);
    try checkKept(kept);
}
