//! Memory: what lives until the call into the plugin ends, and what stays.
//!
//! The host asks `realloc` for room for what it hands over, arguments and answers alike. That comes from `arena`, as what a plugin makes for the
//! moment does, and all of it is free again when the host has read what the call answers. A `Scope` gives it back sooner.
const std = @import("std");
const builtin = @import("builtin");
const Allocator = std.mem.Allocator;
const Alignment = std.mem.Alignment;

/// So much of an arena is kept from call to call, with its head one page of WebAssembly. What a larger event took goes back to the allocator.
const kept_bytes = 60 << 10;

/// For what outlives the call: it is the plugin's to free. In a test it all is when the test's host goes.
pub const allocator: Allocator = if (builtin.cpu.arch.isWasm()) std.heap.wasm_allocator else native.lasting.allocator();

const native = struct {
    var lasting: std.heap.ArenaAllocator = .init(std.heap.page_allocator);
};

/// For what lives until the call ends, or the innermost `Scope`. Nothing in it has to be freed.
pub const arena: Allocator = .{ .ptr = undefined, .vtable = &.{ .alloc = alloc, .resize = resize, .remap = remap, .free = free } };

/// For what lives until the call ends, whatever scope is open: the words of an error, which outlive the scope that it ends.
pub const call = of_call.allocator();

var of_call: std.heap.ArenaAllocator = .init(allocator);
/// Begun and not ended, the innermost first.
var scopes: ?*Scope = null;
/// Detached, and freed with the call if nobody else does.
var detached: ?*Scope = null;

fn current() *std.heap.ArenaAllocator {
    if (scopes) |scope| return &scope.memory;
    if (of_call.state.used_list == null and of_call.state.free_list == null) takeFirstBlock();
    return &of_call;
}

/// One block from the start: each of the sizes by which an arena would grow takes a page of its own. An arena takes half as much again as it is asked for.
fn takeFirstBlock() void {
    _ = of_call.allocator().rawAlloc(kept_bytes * 2 / 3 - 256, .@"1", @returnAddress()) orelse return;
    _ = of_call.reset(.retain_capacity);
}

fn alloc(_: *anyopaque, len: usize, alignment: Alignment, address: usize) ?[*]u8 {
    return current().allocator().rawAlloc(len, alignment, address);
}

/// A block may be of an outer scope, in which nothing grows in place. An arena that holds nothing cannot be asked.
fn resize(_: *anyopaque, block: []u8, alignment: Alignment, len: usize, address: usize) bool {
    const of = current();
    if (of.state.used_list == null) return len <= block.len;
    return of.allocator().rawResize(block, alignment, len, address);
}

fn remap(context: *anyopaque, block: []u8, alignment: Alignment, len: usize, address: usize) ?[*]u8 {
    return if (resize(context, block, alignment, len, address)) block.ptr else null;
}

fn free(_: *anyopaque, block: []u8, alignment: Alignment, address: usize) void {
    const of = current();
    if (of.state.used_list != null) of.allocator().rawFree(block, alignment, address);
}

/// Memory that is given back before the call ends. What is taken from `arena` and what the host answers between `begin` and `end` is gone after
/// that: for loops that look at more than there is room for. Scopes end in the opposite order of their beginnings.
///
///     for (keys) |key| {
///         const scope = try informant.Scope.begin();
///         defer scope.end();
///         const pod = try informant.indexer.get("v1/pods", key) orelse continue;
///     }
pub const Scope = struct {
    memory: std.heap.ArenaAllocator,
    outer: ?*Scope,

    pub fn begin() error{OutOfMemory}!*Scope {
        const scope = try make(scopes);
        scopes = scope;
        return scope;
    }

    pub fn end(scope: *Scope) void {
        std.debug.assert(scopes == scope);
        scopes = scope.outer;
        scope.unmake();
    }

    fn make(outer: ?*Scope) error{OutOfMemory}!*Scope {
        const scope = try allocator.create(Scope);
        scope.* = .{ .memory = .init(allocator), .outer = outer };
        return scope;
    }

    fn unmake(scope: *Scope) void {
        scope.memory.deinit();
        allocator.destroy(scope);
    }

    /// One that is entered for moments only, for the pages of the cache.
    pub fn detach() error{OutOfMemory}!*Scope {
        const scope = try make(detached);
        detached = scope;
        return scope;
    }

    /// Gives back what was taken in a detached one, and has the next answers go there until `leave`.
    pub fn enterAnew(scope: *Scope) Entered {
        _ = scope.memory.reset(.{ .retain_with_limit = kept_bytes });
        const entered: Entered = .{ .before = scopes };
        scopes = scope;
        return entered;
    }

    /// The end of a detached one.
    pub fn drop(scope: *Scope) void {
        var place = &detached;
        while (place.*) |other| : (place = &other.outer) {
            if (other != scope) continue;
            place.* = scope.outer;
            return scope.unmake();
        }
    }

    pub const Entered = struct {
        before: ?*Scope,

        pub fn leave(entered: Entered) void {
            scopes = entered.before;
        }
    };
};

/// Room for what the host hands over: `cabi_realloc`. It is asked for nothing, too, and then answers with an address that is only aligned.
pub fn realloc(old: ?[*]u8, old_len: usize, alignment: usize, len: usize) callconv(.c) [*]u8 {
    if (len == 0) return @ptrFromInt(alignment);
    const block = arena.rawAlloc(len, .fromByteUnits(alignment), @returnAddress()) orelse
        @panic("no memory is left for what the host hands over; raise limits.memory or ask for less at once");
    if (old) |bytes| {
        const kept = @min(old_len, len);
        @memcpy(block[0..kept], bytes[0..kept]);
    }
    return block;
}

/// Everything that came with the call is free again.
pub fn endCall() void {
    while (scopes) |scope| scope.end();
    while (detached) |scope| scope.drop();
    _ = of_call.reset(.{ .retain_with_limit = kept_bytes });
}

/// How many bytes an arena holds for calls, those of scopes not counted. For tests.
pub fn heldByCall() usize {
    return of_call.queryCapacity();
}

/// The end of a test's host.
pub fn endTest() void {
    endCall();
    _ = of_call.reset(.free_all);
    _ = native.lasting.reset(.free_all);
}
