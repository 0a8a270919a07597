//! Iterators over answers of the cache that come in pages. Each page has its own memory, which the next page reuses.
//! So any number of objects needs the memory of one page.
const abi = @import("abi.zig");
const host = @import("imports.zig").host.indexer;
const indexer = @import("indexer.zig");
const Key = @import("event.zig").Key;
const Scope = @import("memory.zig").Scope;

/// The request; it is not copied.
const Question = union(enum) {
    list: struct { resource: []const u8, what: indexer.Listing },
    by_index: struct { resource: []const u8, index: []const u8, value: []const u8 },
    values: struct { resource: []const u8, index: []const u8 },
};

/// Objects, keys or values, one after the other.
pub fn Pages(comptime Item: type) type {
    const Raw = if (Item == Key) abi.Key else abi.Text;
    return struct {
        question: Question,
        items: []const Raw = &.{},
        at: usize = 0,
        /// The start of the next page, in this page's memory.
        cursor: ?[]const u8 = null,
        is_last: bool = false,
        /// There are two scopes, because the request for a page uses the cursor in the previous page.
        scopes: [2]?*Scope = .{ null, null },

        const Self = @This();

        /// The next item, or null after the last one. The item lives until the next page is requested: keep no
        /// reference to it beyond the next call.
        pub fn next(self: *Self) indexer.Error!?Item {
            while (self.at == self.items.len) {
                if (self.is_last) return null;
                try self.turn();
            }
            defer self.at += 1;
            const item = self.items[self.at];
            return if (Item == Key) .lift(item) else item.slice();
        }

        /// Frees the iterator's memory. Otherwise the end of the call frees it.
        pub fn deinit(self: *Self) void {
            for (self.scopes) |scope| if (scope) |one| one.drop();
            self.* = undefined;
        }

        fn turn(self: *Self) indexer.Error!void {
            const scope = self.scopes[0] orelse try Scope.detach();
            self.scopes = .{ self.scopes[1], scope };
            const entered = scope.enterAnew();
            defer entered.leave();
            var answer: abi.Result(abi.Page(Raw), abi.Refusal) = undefined;
            self.ask(.of(self.cursor), &answer);
            if (answer.is_error != 0) {
                // The error's text must outlive the page.
                entered.leave();
                return indexer.refused(answer.with.err);
            }
            const page = answer.with.answer;
            self.items = page.items.slice();
            self.at = 0;
            self.cursor = abi.optionalSlice(page.next);
            self.is_last = self.cursor == null;
        }

        fn ask(self: *Self, cursor: abi.Optional, answer: *abi.Result(abi.Page(Raw), abi.Refusal)) void {
            const more = cursor.is_some;
            const from = cursor.text;
            switch (self.question) {
                .list => |of| if (Raw == abi.Text) {
                    const gvr: abi.Text, const selector: abi.Text = .{ .of(of.resource), .of(of.what.label_selector) };
                    const in: abi.Optional = .of(of.what.namespace);
                    const labels = .{ selector.ptr, selector.len, of.what.limit };
                    const of_namespace = .{ gvr.ptr, gvr.len, in.is_some, in.text.ptr, in.text.len };
                    @call(.auto, host.list, of_namespace ++ labels ++ .{ more, from.ptr, from.len, answer });
                },
                .by_index => |of| {
                    const gvr: abi.Text, const index: abi.Text, const value: abi.Text = .{ .of(of.resource), .of(of.index), .of(of.value) };
                    const call = if (Raw == abi.Text) host.@"by-index" else host.@"index-keys";
                    call(gvr.ptr, gvr.len, index.ptr, index.len, value.ptr, value.len, 0, more, from.ptr, from.len, answer);
                },
                .values => |of| if (Raw == abi.Text) {
                    const gvr: abi.Text, const index: abi.Text = .{ .of(of.resource), .of(of.index) };
                    host.@"index-values"(gvr.ptr, gvr.len, index.ptr, index.len, 0, more, from.ptr, from.len, answer);
                },
            }
        }
    };
}
