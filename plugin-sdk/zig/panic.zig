//! Panics. Zig has no unwinding, so a panic cannot become an error of the event. Its message goes to the log, and a
//! trap ends the instance. The host makes a new instance without the old one's state, and delivers the event again.
//!
//! The root file needs `pub const panic = informant.panic;`.
const std = @import("std");
const log = @import("log.zig");

/// For the root file. In a build with safety checks it also handles overflows, indexes that are out of bounds, and
/// similar errors.
pub const panic = std.debug.FullPanic(end);

var is_ending = false;

fn end(message: []const u8, _: ?usize) noreturn {
    // A second panic, during the output of the first one, is not logged.
    if (!is_ending) {
        is_ending = true;
        log.print(.err, "panic: {s}", .{message});
    }
    @trap();
}
