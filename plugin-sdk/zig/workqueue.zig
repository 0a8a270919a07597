//! The plugin's own rate-limited queue of keys for `reconcile`, with the meaning of client-go's. It belongs to the
//! plugin's name, so it outlives traps and reloads.
//!
//! `handle`, `reconcile`, `fire` and `synced` may change it. Elsewhere these functions end the instance, and so they
//! do in a plugin without `reconcile`. A key has 1 to 512 bytes. A call that adds an invalid key fails without a
//! retry, whatever it returns. Keys that a call has added stay added, even if it then fails.
const abi = @import("abi.zig");
const host = @import("imports.zig").host.workqueue;

/// Adds a key that is due at once, even if it failed before. A waiting key is not added again. A key that is being
/// worked on comes again afterwards.
pub fn add(key: []const u8) void {
    const text: abi.Text = .of(key);
    host.add(text.ptr, text.len);
}

/// Adds a key after this number of milliseconds. If a key has several times, the earliest counts.
pub fn addAfter(key: []const u8, ms: u64) void {
    const text: abi.Text = .of(key);
    host.@"add-after"(text.ptr, text.len, ms);
}

/// Adds a key after the rate limiter's wait for one more failure of the key.
pub fn addRateLimited(key: []const u8) void {
    const text: abi.Text = .of(key);
    host.@"add-rate-limited"(text.ptr, text.len);
}

/// Resets the key's failures, which determine its waits.
pub fn forget(key: []const u8) void {
    const text: abi.Text = .of(key);
    host.forget(text.ptr, text.len);
}

/// The number of the key's failures and of its rate-limited additions since the last reset.
pub fn numRequeues(key: []const u8) u32 {
    const text: abi.Text = .of(key);
    return host.@"num-requeues"(text.ptr, text.len);
}

/// The number of keys that are due.
pub fn len() u32 {
    return host.len();
}
