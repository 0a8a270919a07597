//! Requests to HTTP servers, as far as whoever runs the host grants them to the plugin: the descriptor's `http` says beforehand whom. The plugin
//! waits for the answer. It may ask in `handle`, `reconcile`, `fire` and `synced`; a call that fails takes back nothing that it sent, and comes
//! again.
const std = @import("std");
const abi = @import("abi.zig");
const failure = @import("failure.zig");
const host = @import("imports.zig").host.http;
const memory = @import("memory.zig");

pub const Method = enum { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS };

pub const Header = struct { name: []const u8, value: []const u8 };

/// What is asked, and of whom.
pub const Request = struct {
    method: Method = .GET,
    url: []const u8,
    headers: []const Header = &.{},
    body: []const u8 = "",
    /// 0: as long as the call may wait.
    timeout_ms: u32 = 0,
};

/// As it came. An answer that is an error of the server's, such as 500, is an answer.
pub const Response = struct {
    status: u16,
    /// Names are in small letters.
    headers: []const Header,
    body: []const u8,

    /// The first of this name, in small letters.
    pub fn header(response: Response, name: []const u8) ?[]const u8 {
        for (response.headers) |one| if (std.mem.eql(u8, one.name, name)) return one.value;
        return null;
    }
};

/// Why there is no answer. `informant.message` has the host's words.
pub const Error = error{
    /// Nothing was sent; the words have the lines of configuration that would grant it.
    NotGranted,
    /// Another replica of the host acts. Nothing was sent.
    NotLeader,
    /// It cannot be a request. Nothing was sent.
    Invalid,
    /// No whole answer came in time: it may have been done or not.
    TimedOut,
    /// The answer is larger than it may be. It was done.
    TooLarge,
    /// No answer came: it may have been done or not.
    NoAnswer,
    OutOfMemory,
};

/// Sends one request and waits for its answer.
pub fn send(request: Request) Error!Response {
    const pairs = try memory.arena.alloc(abi.Pair, request.headers.len);
    for (pairs, request.headers) |*pair, header| pair.* = .{ .first = .of(header.name), .second = .of(header.value) };
    const headers: abi.List(abi.Pair) = .of(pairs);
    const method: abi.Text, const url: abi.Text, const body: abi.Text = .{ .of(@tagName(request.method)), .of(request.url), .of(request.body) };
    var answer: abi.Result(abi.Response, abi.Refusal) = undefined;
    host.send(method.ptr, method.len, url.ptr, url.len, headers.ptr, headers.len, body.ptr, body.len, request.timeout_ms, &answer);
    if (answer.is_error != 0) return refused(answer.with.err);
    const came = answer.with.answer;
    const fields = try memory.arena.alloc(Header, came.headers.len);
    for (fields, came.headers.slice()) |*field, pair| field.* = .{ .name = pair.first.slice(), .value = pair.second.slice() };
    return .{ .status = came.status, .headers = fields, .body = came.body.slice() };
}

fn refused(refusal: abi.Refusal) Error {
    const kinds = [_]Error{ error.NotGranted, error.NotLeader, error.Invalid, error.TimedOut, error.TooLarge, error.NoAnswer };
    const kind = kinds[refusal.case];
    const said = if (kind == error.NotLeader) "another replica of the host acts" else refusal.text.slice();
    return failure.note(kind, .backoff, "no answer over HTTP: {t}: {s}", .{ kind, said });
}
