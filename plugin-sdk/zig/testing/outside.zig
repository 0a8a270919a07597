//! Writes and requests in a test: they are recorded, and answered as the test says. Without an answer of the test they
//! are not granted.
const std = @import("std");
const abi = @import("../abi.zig");
const hand = @import("hand.zig");
const types = @import("../http.zig");
const kube_types = @import("../kube.zig");
const worlds = @import("world.zig");
const Text = abi.Text;
const Result = abi.Result;
const world = &worlds.world;

const Bytes = [*]const u8;

pub const kube = struct {
    const Object = *Result(Text, abi.WriteRefusal);
    const Done = *Result(abi.Nothing, abi.WriteRefusal);

    pub const create = Put("create").put;
    pub const update = Put("update").put;

    fn Put(comptime verb: []const u8) type {
        return struct {
            fn put(
                gvr: Bytes,
                gvr_len: usize,
                ns: Bytes,
                ns_len: usize,
                name: Bytes,
                name_len: usize,
                sub: Bytes,
                sub_len: usize,
                body: Bytes,
                body_len: usize,
                answer: Object,
            ) void {
                write(verb, null, .{ gvr[0..gvr_len], ns[0..ns_len], name[0..name_len], sub[0..sub_len] }, body[0..body_len], answer);
            }
        };
    }

    pub fn patch(
        gvr: Bytes,
        gvr_len: usize,
        ns: Bytes,
        ns_len: usize,
        name: Bytes,
        name_len: usize,
        sub: Bytes,
        sub_len: usize,
        patch_type: u32,
        force: u32,
        body: Bytes,
        body_len: usize,
        answer: Object,
    ) void {
        const kinds = [_]kube_types.PatchType{ .json_patch, .merge, .strategic, if (force == 0) .apply else .force_apply };
        write("patch", kinds[patch_type], .{ gvr[0..gvr_len], ns[0..ns_len], name[0..name_len], sub[0..sub_len] }, body[0..body_len], answer);
    }

    /// The body is the UID.
    pub fn delete(
        gvr: Bytes,
        gvr_len: usize,
        ns: Bytes,
        ns_len: usize,
        name: Bytes,
        name_len: usize,
        _: u32,
        uid: Bytes,
        uid_len: usize,
        answer: Done,
    ) void {
        write("delete", null, .{ gvr[0..gvr_len], ns[0..ns_len], name[0..name_len], "" }, uid[0..uid_len], answer);
    }

    /// The body is the reason and the message.
    pub fn @"record-event"(
        gvr: Bytes,
        gvr_len: usize,
        ns: Bytes,
        ns_len: usize,
        name: Bytes,
        name_len: usize,
        _: u32,
        reason: Bytes,
        reason_len: usize,
        message: Bytes,
        message_len: usize,
        answer: Done,
    ) void {
        const body = worlds.print("{s}: {s}", .{ reason[0..reason_len], message[0..message_len] });
        write("record-event", null, .{ gvr[0..gvr_len], ns[0..ns_len], name[0..name_len], "" }, body, answer);
    }

    fn write(verb: []const u8, patch_type: ?kube_types.PatchType, of: [4][]const u8, body: []const u8, answer: anytype) void {
        const made: worlds.Write = .{
            .verb = verb,
            .object = .{
                .resource = worlds.copy(of[0]),
                .key = .{ .namespace = worlds.copy(of[1]), .name = worlds.copy(of[2]) },
                .subresource = worlds.copy(of[3]),
            },
            .body = worlds.copy(body),
            .patch_type = patch_type,
        };
        world.writes.append(worlds.memory, made) catch worlds.noMemory();
        const ask = world.answer_write orelse return refuse(answer, 0, "the test answers no writes: call answerWrites");
        switch (ask(made)) {
            .object => |object| hand.answer(answer, if (@TypeOf(answer) == Object) hand.over(object) else 0),
            .status => |status| refuseStatus(answer, status),
            .not_granted => |text| refuse(answer, 0, text),
            .not_leader => refuse(answer, 1, ""),
            .invalid => |text| refuse(answer, 2, text),
            .no_answer => |text| refuse(answer, 4, text),
        }
    }

    fn refuse(answer: anytype, case: u8, text: []const u8) void {
        hand.refuse(answer, .{ .case = case, .with = .{ .text = hand.over(text) } });
    }

    fn refuseStatus(answer: anytype, status: kube_types.Status) void {
        hand.refuse(answer, .{ .case = 3, .with = .{ .status = .{
            .code = status.code,
            .reason = hand.over(status.reason),
            .message = hand.over(status.message),
            .retry_after_ms = .of(status.retry_after_ms),
        } } });
    }
};

pub const http = struct {
    pub fn send(
        method: Bytes,
        method_len: usize,
        url: Bytes,
        url_len: usize,
        headers: [*]const abi.Pair,
        header_count: usize,
        body: Bytes,
        body_len: usize,
        timeout_ms: u32,
        answer: *Result(abi.Response, abi.Refusal),
    ) void {
        const fields = worlds.memory.alloc(types.Header, header_count) catch worlds.noMemory();
        for (fields, headers[0..header_count]) |*field, pair| {
            field.* = .{ .name = worlds.copy(pair.first.slice()), .value = worlds.copy(pair.second.slice()) };
        }
        const request: types.Request = .{
            .method = std.meta.stringToEnum(types.Method, method[0..method_len]) orelse
                return refuse(answer, 2, "there is no such method"),
            .url = worlds.copy(url[0..url_len]),
            .headers = fields,
            .body = worlds.copy(body[0..body_len]),
            .timeout_ms = timeout_ms,
        };
        world.requests.append(worlds.memory, request) catch worlds.noMemory();
        const ask = world.answer_request orelse return refuse(answer, 0, "the test answers no requests: call answerRequests");
        switch (ask(request)) {
            .response => |response| respond(answer, response),
            .not_granted => |text| refuse(answer, 0, text),
            .not_leader => refuse(answer, 1, ""),
            .invalid => |text| refuse(answer, 2, text),
            .timed_out => |text| refuse(answer, 3, text),
            .too_large => |text| refuse(answer, 4, text),
            .no_answer => |text| refuse(answer, 5, text),
        }
    }

    fn respond(answer: *Result(abi.Response, abi.Refusal), response: types.Response) void {
        const pairs = hand.room(abi.Pair, response.headers.len);
        for (pairs, response.headers) |*pair, header| pair.* = .{ .first = hand.over(header.name), .second = hand.over(header.value) };
        hand.answer(answer, .{ .status = response.status, .headers = .of(pairs), .body = hand.over(response.body) });
    }

    fn refuse(answer: *Result(abi.Response, abi.Refusal), case: u8, text: []const u8) void {
        hand.refuse(answer, .{ .case = case, .text = hand.over(text) });
    }
};
