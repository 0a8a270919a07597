//! What a panic does: Zig has no unwinding, so it cannot become an error of the event. Its message goes to the log, and a trap ends the instance; the
//! host makes a new one, which knows nothing of what this one kept, and brings the event again.
//!
//! The root file says so by `pub const panic = informant.panic;`.
const std = @import("std");
const log = @import("log.zig");

/// For the root file. In a build with safety checks it also hears of overflows, indexes that are out of bounds, and the like.
pub const panic = std.debug.FullPanic(end);

var is_ending = false;

fn end(message: []const u8, _: ?usize) noreturn {
    // A panic while the first one is written has nothing to say.
    if (!is_ending) {
        is_ending = true;
        log.print(.err, "panic: {s}", .{message});
    }
    @trap();
}
