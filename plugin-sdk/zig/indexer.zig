//! The shared cache: the resources of the plugin's subscriptions and of its descriptor's `reads`. Reads never wait and
//! never reach the API server. Their answers live until the call ends, or until the innermost `informant.Scope` ends.
const std = @import("std");
const abi = @import("abi.zig");
const failure = @import("failure.zig");
const host = @import("imports.zig").host.indexer;
const json = @import("json.zig");
const Key = @import("event.zig").Key;
const pages = @import("pages.zig");

/// The reason for a failed read. `informant.message` returns the host's text.
pub const Error = error{
    /// Also for an existing object outside of the plugin's selectors.
    NotGranted,
    UnknownResource,
    UnknownIndex,
    /// The first list is not complete: an absent object may exist.
    NotSynced,
    /// The cursor is too old.
    Expired,
    /// The request is not valid: an invalid selector, or too many pointers.
    Invalid,
    OutOfMemory,
};

/// One object's JSON. Null if the object does not exist.
pub fn get(resource: []const u8, key: Key) Error!?[]const u8 {
    const of: abi.Text, const namespace: abi.Text, const name: abi.Text = .{ .of(resource), .of(key.namespace), .of(key.name) };
    var answer: abi.Result(abi.Option(abi.Text), abi.Refusal) = undefined;
    host.get(of.ptr, of.len, namespace.ptr, namespace.len, name.ptr, name.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return abi.optionalSlice(answer.with.answer);
}

/// One object in a struct with the needed fields. Null if the object does not exist.
pub fn decode(comptime T: type, resource: []const u8, key: Key) (Error || json.DecodeError)!?T {
    return try json.decode(T, try get(resource, key) orelse return null);
}

/// The JSON value at each of these JSON pointers of one object, or null. Null if there is no object. That is much
/// cheaper than the whole object. Up to 256 pointers.
pub fn fields(resource: []const u8, key: Key, pointers: []const []const u8) Error!?[]const ?[]const u8 {
    const of: abi.Text, const namespace: abi.Text, const name: abi.Text = .{ .of(resource), .of(key.namespace), .of(key.name) };
    const asked = try abi.texts(pointers);
    var answer: abi.Result(abi.Option(abi.List(abi.Option(abi.Text))), abi.Refusal) = undefined;
    host.fields(of.ptr, of.len, namespace.ptr, namespace.len, name.ptr, name.len, asked.ptr, asked.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return try abi.optionalSlices(answer.with.answer.get() orelse return null);
}

/// The options of a list.
pub const Listing = struct {
    /// The namespace. Null means all namespaces, and objects without a namespace.
    namespace: ?[]const u8 = null,
    /// A selector in kubectl's notation. The empty one selects all objects.
    label_selector: []const u8 = "",
    /// The number of objects on a page, up to 1,000. 0 means the host's default.
    limit: u32 = 0,
};

/// Objects, page by page. `next` returns the JSON of each. The iteration may end at any object.
///
///     var pods = informant.indexer.list("v1/pods", .{ .label_selector = "app=web" });
///     defer pods.deinit();
///     while (try pods.next()) |pod| ...
pub fn list(resource: []const u8, what: Listing) pages.Pages([]const u8) {
    return .{ .question = .{ .list = .{ .resource = resource, .what = what } } };
}

/// Objects that have this value at the pointer of one of the descriptor's indexes.
pub fn byIndex(resource: []const u8, index: []const u8, value: []const u8) pages.Pages([]const u8) {
    return .{ .question = .{ .by_index = .{ .resource = resource, .index = index, .value = value } } };
}

/// Only the keys of these objects.
pub fn indexKeys(resource: []const u8, index: []const u8, value: []const u8) pages.Pages(Key) {
    return .{ .question = .{ .by_index = .{ .resource = resource, .index = index, .value = value } } };
}

/// All values of an index.
pub fn indexValues(resource: []const u8, index: []const u8) pages.Pages([]const u8) {
    return .{ .question = .{ .values = .{ .resource = resource, .index = index } } };
}

/// The number of objects that the plugin sees in a namespace, or in all.
pub fn count(resource: []const u8, namespace: ?[]const u8) Error!u64 {
    const of: abi.Text, const in: abi.Optional = .{ .of(resource), .of(namespace) };
    var answer: abi.Result(u64, abi.Refusal) = undefined;
    host.count(of.ptr, of.len, in.is_some, in.text.ptr, in.text.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return answer.with.answer;
}

/// Whether the first list is complete. Before that, an absent object may exist.
pub fn hasSynced(resource: []const u8) Error!bool {
    const of: abi.Text = .of(resource);
    var answer: abi.Result(u8, abi.Refusal) = undefined;
    host.@"has-synced"(of.ptr, of.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return answer.with.answer != 0;
}

/// The error for a refused read. Keeps the host's text.
pub fn refused(refusal: abi.Refusal) Error {
    const kinds = [_]Error{ error.NotGranted, error.UnknownResource, error.UnknownIndex, error.NotSynced, error.Expired, error.Invalid };
    const kind = kinds[refusal.case];
    const said = if (kind == error.Expired) "the cursor is too old" else refusal.text.slice();
    return failure.note(kind, .backoff, "the cache was not read: {t}: {s}", .{ kind, said });
}
