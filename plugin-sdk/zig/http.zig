//! HTTP requests, if the host's operator has granted them to the plugin: the descriptor's `http` declares them. The
//! plugin waits for the answer. Requests are possible in `handle`, `reconcile`, `fire` and `synced`. A failed call
//! does not undo its requests, and it comes again.
const std = @import("std");
const abi = @import("abi.zig");
const failure = @import("failure.zig");
const host = @import("imports.zig").host.http;
const memory = @import("memory.zig");

pub const Method = enum { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS };

pub const Header = struct { name: []const u8, value: []const u8 };

/// A request to a server.
pub const Request = struct {
    method: Method = .GET,
    url: []const u8,
    headers: []const Header = &.{},
    body: []const u8 = "",
    /// 0 means the call's own time.
    timeout_ms: u32 = 0,
};

/// The unchanged answer. An error of the server, such as 500, is an answer, too.
pub const Response = struct {
    status: u16,
    /// Names are in lower case.
    headers: []const Header,
    body: []const u8,

    /// The first header with this name, in lower case.
    pub fn header(response: Response, name: []const u8) ?[]const u8 {
        for (response.headers) |one| if (std.mem.eql(u8, one.name, name)) return one.value;
        return null;
    }
};

/// The reason for a missing answer. `informant.message` returns the host's text.
pub const Error = error{
    /// Nothing was sent. The text contains the lines of the configuration that would grant the request.
    NotGranted,
    /// Another replica of the host leads. Nothing was sent.
    NotLeader,
    /// The request is not valid. Nothing was sent.
    Invalid,
    /// No complete answer came in time. The server may have carried the request out.
    TimedOut,
    /// The answer is too large. The server carried the request out.
    TooLarge,
    /// No answer came. The server may have carried the request out.
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
