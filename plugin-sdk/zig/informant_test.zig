//! The tests of the SDK: `zig test informant_test.zig`.
comptime {
    _ = @import("tests/cache.zig");
    _ = @import("tests/config.zig");
    _ = @import("tests/controller.zig");
    _ = @import("tests/declarations.zig");
    _ = @import("tests/descriptor.zig");
    _ = @import("tests/event.zig");
    _ = @import("tests/failure.zig");
    _ = @import("tests/log.zig");
    _ = @import("tests/memory.zig");
    _ = @import("tests/outside.zig");
    _ = @import("tests/pointer.zig");
    _ = @import("tests/readme.zig");
    _ = @import("tests/testing.zig");
}
