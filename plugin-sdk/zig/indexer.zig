//! The shared cache: what the plugin subscribes to, and what it names in its descriptor's `reads`. Reads never wait and never reach the API server.
//! What they answer lives until the call ends, or the innermost `informant.Scope`.
const std = @import("std");
const abi = @import("abi.zig");
const failure = @import("failure.zig");
const host = @import("imports.zig").host.indexer;
const json = @import("json.zig");
const Key = @import("event.zig").Key;
const pages = @import("pages.zig");

/// Why nothing was read. `informant.message` has the host's words.
pub const Error = error{
    /// Also for an object that is there, but outside the plugin's selectors.
    NotGranted,
    UnknownResource,
    UnknownIndex,
    /// The first list is not complete: an absent object may be there.
    NotSynced,
    /// The cursor is too old.
    Expired,
    /// The question cannot be asked: a selector or a number of pointers that is none.
    Invalid,
    OutOfMemory,
};

/// One object's JSON; null if it is not there.
pub fn get(resource: []const u8, key: Key) Error!?[]const u8 {
    const of: abi.Text, const namespace: abi.Text, const name: abi.Text = .{ .of(resource), .of(key.namespace), .of(key.name) };
    var answer: abi.Result(abi.Option(abi.Text), abi.Refusal) = undefined;
    host.get(of.ptr, of.len, namespace.ptr, namespace.len, name.ptr, name.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return abi.optionalSlice(answer.with.answer);
}

/// One object in a struct with the fields that matter; null if it is not there.
pub fn decode(comptime T: type, resource: []const u8, key: Key) (Error || json.DecodeError)!?T {
    return try json.decode(T, try get(resource, key) orelse return null);
}

/// Of one object the JSON value at each of these JSON pointers, null where nothing is there; null for no object. That is much cheaper than the whole
/// object. Up to 256 pointers.
pub fn fields(resource: []const u8, key: Key, pointers: []const []const u8) Error!?[]const ?[]const u8 {
    const of: abi.Text, const namespace: abi.Text, const name: abi.Text = .{ .of(resource), .of(key.namespace), .of(key.name) };
    const asked = try abi.texts(pointers);
    var answer: abi.Result(abi.Option(abi.List(abi.Option(abi.Text))), abi.Refusal) = undefined;
    host.fields(of.ptr, of.len, namespace.ptr, namespace.len, name.ptr, name.len, asked.ptr, asked.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return try abi.optionalSlices(answer.with.answer.get() orelse return null);
}

/// What is listed.
pub const Listing = struct {
    /// All of them, and objects that have none, if it is null.
    namespace: ?[]const u8 = null,
    /// As kubectl writes it; the empty one selects all.
    label_selector: []const u8 = "",
    /// How many come at once, up to 1,000; 0 is the host's own number.
    limit: u32 = 0,
};

/// Objects, a page at a time; `next` gives the JSON of each. It may be left at any moment.
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

/// The keys of such objects alone.
pub fn indexKeys(resource: []const u8, index: []const u8, value: []const u8) pages.Pages(Key) {
    return .{ .question = .{ .by_index = .{ .resource = resource, .index = index, .value = value } } };
}

/// All values that an index has.
pub fn indexValues(resource: []const u8, index: []const u8) pages.Pages([]const u8) {
    return .{ .question = .{ .values = .{ .resource = resource, .index = index } } };
}

/// How many objects the plugin sees in a namespace, or in all.
pub fn count(resource: []const u8, namespace: ?[]const u8) Error!u64 {
    const of: abi.Text, const in: abi.Optional = .{ .of(resource), .of(namespace) };
    var answer: abi.Result(u64, abi.Refusal) = undefined;
    host.count(of.ptr, of.len, in.is_some, in.text.ptr, in.text.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return answer.with.answer;
}

/// Whether the first list is complete: only then is what is not there known not to be.
pub fn hasSynced(resource: []const u8) Error!bool {
    const of: abi.Text = .of(resource);
    var answer: abi.Result(u8, abi.Refusal) = undefined;
    host.@"has-synced"(of.ptr, of.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return answer.with.answer != 0;
}

/// The error of a refusal, with the host's words kept.
pub fn refused(refusal: abi.Refusal) Error {
    const kinds = [_]Error{ error.NotGranted, error.UnknownResource, error.UnknownIndex, error.NotSynced, error.Expired, error.Invalid };
    const kind = kinds[refusal.case];
    const said = if (kind == error.Expired) "the cursor is too old" else refusal.text.slice();
    return failure.note(kind, .backoff, "the cache was not read: {t}: {s}", .{ kind, said });
}
