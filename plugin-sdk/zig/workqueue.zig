//! The plugin's own rate-limited queue of keys, on which `reconcile` works, with the meaning that client-go gives it. It belongs to the plugin's
//! name: traps and reloads leave it alone.
//!
//! It is changed in `handle`, `reconcile`, `fire` and `synced`; elsewhere these functions end the instance, and so they do in a plugin without
//! `reconcile`. A key has 1 to 512 bytes: a call that adds one that has not has failed for good, whatever it returns. Keys that a call has added
//! stay added if it fails then.
const abi = @import("abi.zig");
const host = @import("imports.zig").host.workqueue;

/// To be worked on at once, also if it failed before. One that waits is not added again; one that is worked on comes again afterwards.
pub fn add(key: []const u8) void {
    const text: abi.Text = .of(key);
    host.add(text.ptr, text.len);
}

/// The same after so many milliseconds. Of several times for a key the earliest counts.
pub fn addAfter(key: []const u8, ms: u64) void {
    const text: abi.Text = .of(key);
    host.@"add-after"(text.ptr, text.len, ms);
}

/// The same after the wait that the rate limiter gives to one more failure of the key.
pub fn addRateLimited(key: []const u8) void {
    const text: abi.Text = .of(key);
    host.@"add-rate-limited"(text.ptr, text.len);
}

/// The key's failures count no more towards its waits.
pub fn forget(key: []const u8) void {
    const text: abi.Text = .of(key);
    host.forget(text.ptr, text.len);
}

/// How often it failed, or was added rate limited, since it was last forgotten.
pub fn numRequeues(key: []const u8) u32 {
    const text: abi.Text = .of(key);
    return host.@"num-requeues"(text.ptr, text.len);
}

/// How many keys could be worked on now.
pub fn len() u32 {
    return host.len();
}
