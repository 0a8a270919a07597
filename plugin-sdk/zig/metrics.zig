//! Series on the host's `/metrics`, with a label for the plugin. Additions of a failed call count, too.
//!
//!     try informant.metrics.counterAdd("restarts_total", .{ .namespace = event.key.namespace }, 1);
const abi = @import("abi.zig");
const failure = @import("failure.zig");
const host = @import("imports.zig").host.metrics;
const log = @import("log.zig");

/// `informant.message` returns the reason: an invalid name, label or number, or too many series.
pub const Error = error{Refused};

/// Adds a value that is not negative to a counter. `labels` is a struct whose fields are texts, numbers or enums.
pub fn counterAdd(name: []const u8, labels: anytype, value: f64) Error!void {
    try change(host.@"counter-add", name, labels, value);
}

/// Sets a gauge.
pub fn gaugeSet(name: []const u8, labels: anytype, value: f64) Error!void {
    try change(host.@"gauge-set", name, labels, value);
}

/// Counts one value in a histogram.
pub fn histogramObserve(name: []const u8, labels: anytype, value: f64) Error!void {
    try change(host.@"histogram-observe", name, labels, value);
}

/// The host accepts up to 16 labels of up to 256 bytes each.
var label_texts: [16 << 8]u8 = undefined;

fn change(comptime call: anytype, name: []const u8, labels: anytype, value: f64) Error!void {
    var room: log.Room = .begin(&label_texts);
    var pairs: [log.fieldCount(@TypeOf(labels))]abi.Pair = undefined;
    const list: abi.List(abi.Pair) = .of(log.fields(&room, labels, &pairs));
    const text: abi.Text = .of(name);
    var answer: abi.Result(abi.Nothing, abi.Text) = undefined;
    call(text.ptr, text.len, list.ptr, list.len, value, &answer);
    if (answer.is_error != 0) return failure.note(error.Refused, .backoff, "metrics: {s}", .{answer.with.err.slice()});
}
