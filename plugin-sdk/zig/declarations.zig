//! Checks the declarations of a plugin's struct at compile time. Only public declarations are visible: a function
//! without `pub` looks like a missing one.
const std = @import("std");
const Config = @import("config.zig").Config;
const Descriptor = @import("descriptor.zig").Descriptor;

const contract = [_][]const u8{ "describe", "start", "handle", "reconcile", "fire", "synced", "snapshot", "restore", "stop" };

/// The mistake in a plugin's declarations, as the end of a sentence that begins with the plugin's name. Null if there
/// is none.
pub fn mistake(comptime Plugin: type) ?[]const u8 {
    @setEvalBranchQuota(100_000);
    if (misspelt(Plugin)) |words| return words;
    if (!@hasDecl(Plugin, "describe"))
        return "does not say what it wants: declare `pub const describe: informant.Descriptor`, or a function of that name";
    if (!@hasDecl(Plugin, "handle") and !@hasDecl(Plugin, "reconcile") and !@hasDecl(Plugin, "fire"))
        return "does nothing: declare one of `pub fn handle`, `reconcile` and `fire`";
    if (@hasDecl(Plugin, "snapshot") != @hasDecl(Plugin, "restore"))
        return "needs both of `pub fn snapshot` and `restore`, or neither";
    return if (@TypeOf(Plugin.describe) == Descriptor) unmet(Plugin) else null;
}

/// A call that the descriptor needs and that the plugin does not have.
fn unmet(comptime Plugin: type) ?[]const u8 {
    const descriptor: Descriptor = Plugin.describe;
    if (descriptor.schedules.len > 0 and !@hasDecl(Plugin, "fire"))
        return "has `schedules`, and no `pub fn fire` that they would call";
    for (descriptor.subscriptions) |subscription| {
        const name = if (subscription.enqueue.len > 0) "reconcile" else "handle";
        if (!@hasDecl(Plugin, name))
            return "subscribes to " ++ subscription.resource ++ ", and has no `pub fn " ++ name ++ "` that is called for it";
    }
    return null;
}

/// A public function with the parameters of the contract's functions, and almost the name of one.
fn misspelt(comptime Plugin: type) ?[]const u8 {
    for (@typeInfo(Plugin).@"struct".decl_names) |name| {
        if (!isCalledSo(Plugin, @TypeOf(@field(Plugin, name)))) continue;
        for (contract) |known| if (isAlmost(name, known))
            return "has a `pub fn " ++ name ++ "`, which nothing calls: name it `" ++ known ++ "`, or leave out `pub` if it is your own";
    }
    return null;
}

/// Whether the first argument is the plugin or a configuration, as in the contract's functions.
fn isCalledSo(comptime Plugin: type, comptime Type: type) bool {
    const info = switch (@typeInfo(Type)) {
        .@"fn" => |info| info,
        else => return false,
    };
    if (info.param_types.len == 0) return false;
    const First = info.param_types[0] orelse return false;
    return First == *Plugin or First == *const Plugin or First == Plugin or First == Config;
}

/// Whether a name differs from another by one letter that is wrong, additional or missing, or by two swapped letters.
fn isAlmost(name: []const u8, known: []const u8) bool {
    if (std.mem.eql(u8, name, known)) return false;
    const same = std.mem.findDiff(u8, name, known).?;
    const a, const b = .{ name[same..], known[same..] };
    if (a.len == 0 or b.len == 0) return a.len + b.len == 1;
    if (std.mem.eql(u8, a[1..], b) or std.mem.eql(u8, a, b[1..]) or std.mem.eql(u8, a[1..], b[1..])) return true;
    return a.len > 1 and b.len > 1 and a[0] == b[1] and a[1] == b[0] and std.mem.eql(u8, a[2..], b[2..]);
}
