//! Descriptors as the host parses them.
const std = @import("std");
const informant = @import("../informant.zig");
const memory = @import("../memory.zig");

fn check(descriptor: informant.Descriptor, json: []const u8) !void {
    defer memory.endTest();
    try std.testing.expectEqualStrings(json, try descriptor.json());
}

test "what is not said is left out" {
    try check(.{ .version = "1" },
        \\{"version":"1"}
    );
    try check(.{ .version = "1", .subscriptions = &.{.{ .resource = "v1/pods", .label_selector = "" }} },
        \\{"version":"1","subscriptions":[{"resource":"v1/pods","labelSelector":""}]}
    );
}

test "a subscription has all keys of the schema" {
    const subscription: informant.Subscription = .{
        .name = "mine",
        .resource = "v1/pods",
        .namespaces = &.{ "a", "b" },
        .namespace_selector = "team=shop",
        .label_selector = "app=web",
        .field_selector = "spec.nodeName=one",
        .types = &.{ .added, .deleted },
        .replay = .initial_and_reload,
        .delivery = .lazy,
        .with_old = true,
        .only_if_changed = &.{"/spec"},
        .filter = "change == \"added\"",
        .resync_period = "10m",
    };
    try check(.{ .version = "1", .subscriptions = &.{subscription} },
        \\{"version":"1","subscriptions":[{"name":"mine","resource":"v1/pods","namespaces":["a","b"],"namespaceSelector":"team=shop","labelSelector":"app=web",
    ++
        \\"fieldSelector":"spec.nodeName=one","types":["added","deleted"],"replay":"initial-and-reload","delivery":"lazy",
    ++
        \\"withOld":true,"onlyIfChanged":["/spec"],"filter":"change == \"added\"","resyncPeriod":"10m"}]}
    );
}

test "a rule for keys has one of its three forms" {
    const rules: []const informant.Enqueue = &.{
        .{ .of = .self },
        .{ .of = .{ .owner = "apps/v1/ReplicaSet" }, .prefix = "rs:" },
        .{ .of = .{ .pointer = "/spec/x" }, .namespace = "none" },
    };
    try check(.{ .version = "1", .subscriptions = &.{.{ .resource = "v1/pods", .enqueue = rules }} },
        \\{"version":"1","subscriptions":[{"resource":"v1/pods","enqueue":[{"self":true},
    ++
        \\{"owner":"apps/v1/ReplicaSet","prefix":"rs:"},{"pointer":"/spec/x","namespace":"none"}]}]}
    );
}

test "everything beside subscriptions" {
    try check(.{
        .version = "1",
        .indexes = &.{.{ .resource = "v1/pods", .name = "node", .pointer = "/spec/nodeName" }},
        .reads = &.{.{ .resource = "v1/nodes" }},
        .writes = &.{.{ .resource = "v1/pods/status", .verbs = &.{ .patch, .delete }, .namespaces = &.{"shop"} }},
        .http = &.{.{ .origins = &.{"https://a.example"}, .methods = &.{.POST}, .paths = &.{"/x"}, .addresses = &.{.private} }},
        .schedules = &.{ .{ .name = "a", .when = .{ .cron = "0 * * * *" } }, .{ .name = "b", .when = .{ .every = "30s" } } },
        .shards = 4,
    },
        \\{"version":"1","indexes":[{"resource":"v1/pods","name":"node","pointer":"/spec/nodeName"}],"reads":[{"resource":"v1/nodes"}],
    ++
        \\"writes":[{"resource":"v1/pods/status","verbs":["patch","delete"],"namespaces":["shop"]}],
    ++
        \\"http":[{"origins":["https://a.example"],"methods":["POST"],"paths":["/x"],"addresses":["private"]}],
    ++
        \\"schedules":[{"name":"a","cron":"0 * * * *"},{"name":"b","every":"30s"}],"shards":4}
    );
}

test "every key is one of the schema, and none is missing" {
    const io = std.testing.io;
    const schema = try std.Io.Dir.cwd().readFileAlloc(io, "../descriptor.schema.json", std.testing.allocator, .limited(1 << 20));
    defer std.testing.allocator.free(schema);
    const parsed = try std.json.parseFromSlice(std.json.Value, std.testing.allocator, schema, .{});
    defer parsed.deinit();
    const root = parsed.value.object;
    try expectKeys(informant.Descriptor, root.get("properties").?);
    const kinds = root.get("$defs").?.object;
    inline for (.{
        .{ informant.Subscription, "subscription" },
        .{ informant.Index, "index" },
        .{ informant.Read, "read" },
        .{ informant.Write, "write" },
        .{ informant.Http, "http" },
    }) |pair| try expectKeys(pair[0], kinds.get(pair[1]).?.object.get("properties").?);
}

/// A struct has one field for each key of the schema, with the same name except for the spelling.
fn expectKeys(comptime T: type, properties: std.json.Value) !void {
    const names = @typeInfo(T).@"struct".field_names;
    try std.testing.expectEqual(properties.object.count(), names.len);
    for (properties.object.keys()) |key| {
        const is_there = inline for (names) |name| {
            if (isSpelt(key, name)) break true;
        } else false;
        if (!is_there) std.debug.print("{s} has no {s}\n", .{ @typeName(T), key });
        try std.testing.expect(is_there);
    }
}

fn isSpelt(key: []const u8, name: []const u8) bool {
    var at: usize = 0;
    for (name) |letter| {
        if (letter == '_') continue;
        if (at == key.len or std.ascii.toLower(key[at]) != letter) return false;
        at += 1;
    }
    return at == key.len;
}
