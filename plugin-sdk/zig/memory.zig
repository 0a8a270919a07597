//! Memory that lives until the call into the plugin ends, and memory that stays.
//!
//! The host gets memory for arguments and answers from `realloc`, which uses `arena`. The plugin's own temporary
//! memory comes from `arena`, too. All of it is free again when the host has read the answer of the call. A `Scope`
//! frees it earlier.
const std = @import("std");
const builtin = @import("builtin");
const Allocator = std.mem.Allocator;
const Alignment = std.mem.Alignment;

/// The size of the arena that is kept from call to call. With its head it is one page of WebAssembly. Additional
/// memory of a larger event goes back to the allocator.
const kept_bytes = 60 << 10;

/// For memory that outlives the call; the plugin must free it. In a test, the end of the test's host frees it.
pub const allocator: Allocator = if (builtin.cpu.arch.isWasm()) std.heap.wasm_allocator else native.lasting.allocator();

const native = struct {
    var lasting: std.heap.ArenaAllocator = .init(std.heap.page_allocator);
};

/// For memory that lives until the call ends, or until the innermost `Scope` ends. It need not be freed.
pub const arena: Allocator = .{ .ptr = undefined, .vtable = &.{ .alloc = alloc, .resize = resize, .remap = remap, .free = free } };

/// For memory that lives until the call ends, even if a scope is open: the text of an error outlives the scope that
/// the error ends.
pub const call = of_call.allocator();

var of_call: std.heap.ArenaAllocator = .init(allocator);
/// The open scopes, the innermost first.
var scopes: ?*Scope = null;
/// The detached scopes. The end of the call frees the remaining ones.
var detached: ?*Scope = null;

fn current() *std.heap.ArenaAllocator {
    if (scopes) |scope| return &scope.memory;
    if (of_call.state.used_list == null and of_call.state.free_list == null) takeFirstBlock();
    return &of_call;
}

/// Takes one block at the start. Otherwise, each size by which an arena grows would take a separate page. An arena
/// takes one and a half times the requested size.
fn takeFirstBlock() void {
    _ = of_call.allocator().rawAlloc(kept_bytes * 2 / 3 - 256, .@"1", @returnAddress()) orelse return;
    _ = of_call.reset(.retain_capacity);
}

fn alloc(_: *anyopaque, len: usize, alignment: Alignment, address: usize) ?[*]u8 {
    return current().allocator().rawAlloc(len, alignment, address);
}

/// A block may belong to an outer scope, whose blocks do not grow in place. An arena without memory cannot be asked.
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

/// Memory that is freed before the call ends. Memory from `arena` and answers of the host between `begin` and `end`
/// are freed at `end`: use it for loops over more data than fits into memory. Scopes end in the opposite order of
/// their beginnings.
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

    /// Creates a detached scope, which is entered only for short times. For the pages of the cache.
    pub fn detach() error{OutOfMemory}!*Scope {
        const scope = try make(detached);
        detached = scope;
        return scope;
    }

    /// Frees the memory of a detached scope. Until `leave`, the next answers use this scope.
    pub fn enterAnew(scope: *Scope) Entered {
        _ = scope.memory.reset(.{ .retain_with_limit = kept_bytes });
        const entered: Entered = .{ .before = scopes };
        scopes = scope;
        return entered;
    }

    /// Ends a detached scope.
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

/// `cabi_realloc`: memory for the host's values. For a size of zero it returns an aligned address without memory.
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

/// Frees all memory of the call.
pub fn endCall() void {
    while (scopes) |scope| scope.end();
    while (detached) |scope| scope.drop();
    _ = of_call.reset(.{ .retain_with_limit = kept_bytes });
}

/// The number of bytes that an arena holds for calls, without those of scopes. For tests.
pub fn heldByCall() usize {
    return of_call.queryCapacity();
}

/// Ends a test's host.
pub fn endTest() void {
    endCall();
    _ = of_call.reset(.free_all);
    _ = native.lasting.reset(.free_all);
}
