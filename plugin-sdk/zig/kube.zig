//! Writes to the cluster, if the host's operator has granted them to the plugin: the descriptor's `writes` declare
//! them. The plugin waits for the answer. Writes are possible in `handle`, `reconcile`, `fire` and `synced`. A failed
//! call does not undo its writes, and it comes again.
const std = @import("std");
const abi = @import("abi.zig");
const failure = @import("failure.zig");
const host = @import("imports.zig").host.kube;
const json = @import("json.zig");
const memory = @import("memory.zig");
const Key = @import("event.zig").Key;

/// The object of a write: its resource and key, and for some verbs a subresource such as `status`.
pub const Object = struct { resource: []const u8, key: Key, subresource: []const u8 = "" };

/// The format of a patch.
pub const PatchType = enum {
    /// RFC 6902.
    json_patch,
    /// RFC 7386.
    merge,
    /// Lists merge by key. Not for custom resources.
    strategic,
    /// Server-side apply. The field manager is `informant-` and the plugin's name.
    apply,
    /// The same, and it takes over fields of other managers.
    force_apply,
};

/// The reason for a failed or uncertain write. `informant.message` returns the host's text, and `status` the API
/// server's.
pub const Error = error{
    /// Nothing was sent. The text contains the lines of the configuration that would grant the write.
    NotGranted,
    /// Another replica of the host leads.
    NotLeader,
    /// The write is not valid. Nothing was sent.
    Invalid,
    /// The API server's `Conflict`: another client has changed the object first.
    Conflict,
    /// The API server's `AlreadyExists`.
    AlreadyExists,
    /// The API server's `NotFound`.
    NotFound,
    /// The API server refused the write for another reason.
    Refused,
    /// No answer came. The API server may have carried the write out, unless the text says that nothing was sent.
    NoAnswer,
    OutOfMemory,
};

/// The API server's `Status`.
pub const Status = struct {
    /// The HTTP status code.
    code: u16,
    /// The API server's reason: `Conflict`, `AlreadyExists`, `NotFound`, `Invalid`.
    reason: []const u8,
    message: []const u8,
    /// With 429 and 503: the time until the next try.
    retry_after_ms: ?u64,
};

/// Creates an object. `body` is its JSON as a text, or a value that is encoded as JSON. If the name is empty, the
/// object's `generateName` applies. Returns the object of the API server's answer.
pub fn create(object: Object, body: anytype) Error![]const u8 {
    return put(host.create, object, body);
}

/// Replaces an object. Objects from the cache lack the last-applied annotation. If the object in the cluster has it,
/// the update is refused as invalid; use `patch` instead.
pub fn update(object: Object, body: anytype) Error![]const u8 {
    return put(host.update, object, body);
}

/// Changes only the fields that the patch names.
pub fn patch(object: Object, patch_type: PatchType, body: anytype) Error![]const u8 {
    const gvr: abi.Text, const namespace: abi.Text, const name: abi.Text = lower(object);
    const subresource: abi.Text, const text: abi.Text = .{ .of(object.subresource), .of(try json.encode(body)) };
    const case: u32, const force: u32 = switch (patch_type) {
        .json_patch => .{ 0, 0 },
        .merge => .{ 1, 0 },
        .strategic => .{ 2, 0 },
        .apply => .{ 3, 0 },
        .force_apply => .{ 3, 1 },
    };
    var answer: abi.Result(abi.Text, abi.WriteRefusal) = undefined;
    host.patch(
        gvr.ptr,
        gvr.len,
        namespace.ptr,
        namespace.len,
        name.ptr,
        name.len,
        subresource.ptr,
        subresource.len,
        case,
        force,
        text.ptr,
        text.len,
        &answer,
    );
    if (answer.is_error != 0) return refused(answer.with.err);
    return answer.with.answer.slice();
}

/// Deletes an object. With a UID it deletes only the object with this UID; another object with the same name is a
/// `Conflict`.
pub fn delete(object: Object, uid: ?[]const u8) Error!void {
    const gvr: abi.Text, const namespace: abi.Text, const name: abi.Text = lower(object);
    const of: abi.Optional = .of(uid);
    var answer: abi.Result(abi.Nothing, abi.WriteRefusal) = undefined;
    host.delete(gvr.ptr, gvr.len, namespace.ptr, namespace.len, name.ptr, name.len, of.is_some, of.text.ptr, of.text.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
}

/// A Kubernetes Event about an object.
pub const Note = struct { warning: bool = false, reason: []const u8, message: []const u8 };

/// Writes a Kubernetes Event, without waiting for it.
pub fn recordEvent(object: Object, event: Note) Error!void {
    const gvr: abi.Text, const namespace: abi.Text, const name: abi.Text = lower(object);
    const reason: abi.Text, const message: abi.Text = .{ .of(event.reason), .of(event.message) };
    var answer: abi.Result(abi.Nothing, abi.WriteRefusal) = undefined;
    const warning: u32 = @intFromBool(event.warning);
    const call = host.@"record-event";
    call(gvr.ptr, gvr.len, namespace.ptr, namespace.len, name.ptr, name.len, warning, reason.ptr, reason.len, message.ptr, message.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
}

/// The API server's status for the last refused write of this call.
pub fn status() ?Status {
    return last;
}

/// Forgets the status at the start of a new call.
pub fn forget() void {
    last = null;
}

var last: ?Status = null;

fn put(comptime call: anytype, object: Object, body: anytype) Error![]const u8 {
    const gvr: abi.Text, const namespace: abi.Text, const name: abi.Text = lower(object);
    const subresource: abi.Text, const text: abi.Text = .{ .of(object.subresource), .of(try json.encode(body)) };
    var answer: abi.Result(abi.Text, abi.WriteRefusal) = undefined;
    call(gvr.ptr, gvr.len, namespace.ptr, namespace.len, name.ptr, name.len, subresource.ptr, subresource.len, text.ptr, text.len, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    return answer.with.answer.slice();
}

fn lower(object: Object) struct { abi.Text, abi.Text, abi.Text } {
    return .{ .of(object.resource), .of(object.key.namespace), .of(object.key.name) };
}

fn refused(refusal: abi.WriteRefusal) Error {
    const note = failure.note;
    switch (refusal.case) {
        0 => return note(error.NotGranted, .backoff, "not written: not granted: {s}", .{refusal.with.text.slice()}),
        1 => return note(error.NotLeader, .backoff, "not written: another replica of the host writes", .{}),
        2 => return note(error.Invalid, .backoff, "not written: {s}", .{refusal.with.text.slice()}),
        3 => {
            // The answer may end with a scope.
            const said = refusal.with.status;
            last = .{
                .code = said.code,
                .reason = memory.call.dupe(u8, said.reason.slice()) catch |err| return err,
                .message = memory.call.dupe(u8, said.message.slice()) catch |err| return err,
                .retry_after_ms = said.retry_after_ms.get(),
            };
            const known = [_]Error{ error.Conflict, error.AlreadyExists, error.NotFound };
            for (known) |err| if (std.mem.eql(u8, last.?.reason, @errorName(err))) return ofStatus(err);
            return ofStatus(error.Refused);
        },
        else => return note(error.NoAnswer, .backoff, "no answer to a write: {s}", .{refusal.with.text.slice()}),
    }
}

/// Sets the retry after the API server's time, if it has one.
fn ofStatus(err: Error) Error {
    const said = last.?;
    const retry: failure.Retry = if (said.retry_after_ms) |ms| .{ .after_ms = ms } else .backoff;
    return failure.note(err, retry, "not written: {d} {s}: {s}", .{ said.code, said.reason, said.message });
}
