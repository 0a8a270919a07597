//! The host's functions, by interface: core functions as in reference.md. Only the functions that a plugin uses are
//! imported, so `informant plugin check` shows them. In native builds, for tests, `testing/host.zig` replaces them.
const builtin = @import("builtin");
const abi = @import("abi.zig");

const Text = abi.Text;
const Result = abi.Result;

/// The source of the host's functions.
pub const host = if (builtin.cpu.arch.isWasm()) wasm else @import("testing/host.zig");

const wasm = struct {
    pub const event_data = struct {
        pub extern "informant:plugin/event-data@0.1.0" fn json(side: u32, answer: *abi.Option(Text)) void;
        pub extern "informant:plugin/event-data@0.1.0" fn fields(
            side: u32,
            pointers: [*]const Text,
            pointer_count: usize,
            answer: *abi.List(abi.Option(Text)),
        ) void;
        pub extern "informant:plugin/event-data@0.1.0" fn changed(pointer: [*]const u8, len: usize) u32;
    };

    pub const indexer = struct {
        pub extern "informant:plugin/indexer@0.1.0" fn get(
            gvr: [*]const u8,
            gvr_len: usize,
            namespace: [*]const u8,
            namespace_len: usize,
            name: [*]const u8,
            name_len: usize,
            answer: *Result(abi.Option(Text), abi.Refusal),
        ) void;
        pub extern "informant:plugin/indexer@0.1.0" fn fields(
            gvr: [*]const u8,
            gvr_len: usize,
            namespace: [*]const u8,
            namespace_len: usize,
            name: [*]const u8,
            name_len: usize,
            pointers: [*]const Text,
            pointer_count: usize,
            answer: *Result(abi.Option(abi.List(abi.Option(Text))), abi.Refusal),
        ) void;
        pub extern "informant:plugin/indexer@0.1.0" fn list(
            gvr: [*]const u8,
            gvr_len: usize,
            some_namespace: u32,
            namespace: [*]const u8,
            namespace_len: usize,
            selector: [*]const u8,
            selector_len: usize,
            limit: u32,
            some_cursor: u32,
            cursor: [*]const u8,
            cursor_len: usize,
            answer: *Result(abi.Page(Text), abi.Refusal),
        ) void;
        pub extern "informant:plugin/indexer@0.1.0" fn @"by-index"(
            gvr: [*]const u8,
            gvr_len: usize,
            index: [*]const u8,
            index_len: usize,
            value: [*]const u8,
            value_len: usize,
            limit: u32,
            some_cursor: u32,
            cursor: [*]const u8,
            cursor_len: usize,
            answer: *Result(abi.Page(Text), abi.Refusal),
        ) void;
        pub extern "informant:plugin/indexer@0.1.0" fn @"index-keys"(
            gvr: [*]const u8,
            gvr_len: usize,
            index: [*]const u8,
            index_len: usize,
            value: [*]const u8,
            value_len: usize,
            limit: u32,
            some_cursor: u32,
            cursor: [*]const u8,
            cursor_len: usize,
            answer: *Result(abi.Page(abi.Key), abi.Refusal),
        ) void;
        pub extern "informant:plugin/indexer@0.1.0" fn @"index-values"(
            gvr: [*]const u8,
            gvr_len: usize,
            index: [*]const u8,
            index_len: usize,
            limit: u32,
            some_cursor: u32,
            cursor: [*]const u8,
            cursor_len: usize,
            answer: *Result(abi.Page(Text), abi.Refusal),
        ) void;
        pub extern "informant:plugin/indexer@0.1.0" fn count(
            gvr: [*]const u8,
            gvr_len: usize,
            some_namespace: u32,
            namespace: [*]const u8,
            namespace_len: usize,
            answer: *Result(u64, abi.Refusal),
        ) void;
        pub extern "informant:plugin/indexer@0.1.0" fn @"has-synced"(
            gvr: [*]const u8,
            gvr_len: usize,
            answer: *Result(u8, abi.Refusal),
        ) void;
    };

    pub const workqueue = struct {
        pub extern "informant:plugin/workqueue@0.1.0" fn add(key: [*]const u8, len: usize) void;
        pub extern "informant:plugin/workqueue@0.1.0" fn @"add-after"(key: [*]const u8, len: usize, ms: u64) void;
        pub extern "informant:plugin/workqueue@0.1.0" fn @"add-rate-limited"(key: [*]const u8, len: usize) void;
        pub extern "informant:plugin/workqueue@0.1.0" fn forget(key: [*]const u8, len: usize) void;
        pub extern "informant:plugin/workqueue@0.1.0" fn @"num-requeues"(key: [*]const u8, len: usize) u32;
        pub extern "informant:plugin/workqueue@0.1.0" fn len() u32;
    };

    pub const log = struct {
        pub extern "informant:plugin/log@0.1.0" fn enabled(level: u32) u32;
        pub extern "informant:plugin/log@0.1.0" fn log(
            level: u32,
            message: [*]const u8,
            message_len: usize,
            fields: [*]const abi.Pair,
            field_count: usize,
        ) void;
    };

    pub const metrics = struct {
        pub extern "informant:plugin/metrics@0.1.0" fn @"counter-add"(
            name: [*]const u8,
            name_len: usize,
            labels: [*]const abi.Pair,
            label_count: usize,
            value: f64,
            answer: *Result(abi.Nothing, Text),
        ) void;
        pub extern "informant:plugin/metrics@0.1.0" fn @"gauge-set"(
            name: [*]const u8,
            name_len: usize,
            labels: [*]const abi.Pair,
            label_count: usize,
            value: f64,
            answer: *Result(abi.Nothing, Text),
        ) void;
        pub extern "informant:plugin/metrics@0.1.0" fn @"histogram-observe"(
            name: [*]const u8,
            name_len: usize,
            labels: [*]const abi.Pair,
            label_count: usize,
            value: f64,
            answer: *Result(abi.Nothing, Text),
        ) void;
    };

    pub const state = struct {
        pub extern "informant:plugin/state@0.1.0" fn get(
            key: [*]const u8,
            key_len: usize,
            answer: *Result(abi.Option(Text), Text),
        ) void;
        pub extern "informant:plugin/state@0.1.0" fn set(
            key: [*]const u8,
            key_len: usize,
            some_value: u32,
            value: [*]const u8,
            value_len: usize,
            answer: *Result(abi.Nothing, Text),
        ) void;
        pub extern "informant:plugin/state@0.1.0" fn @"compare-and-set"(
            key: [*]const u8,
            key_len: usize,
            some_expected: u32,
            expected: [*]const u8,
            expected_len: usize,
            some_value: u32,
            value: [*]const u8,
            value_len: usize,
            answer: *Result(u8, Text),
        ) void;
        pub extern "informant:plugin/state@0.1.0" fn keys(
            prefix: [*]const u8,
            prefix_len: usize,
            answer: *Result(abi.List(Text), Text),
        ) void;
    };

    pub const kube = struct {
        pub extern "informant:plugin/kube@0.1.0" fn create(
            gvr: [*]const u8,
            gvr_len: usize,
            namespace: [*]const u8,
            namespace_len: usize,
            name: [*]const u8,
            name_len: usize,
            subresource: [*]const u8,
            subresource_len: usize,
            object: [*]const u8,
            object_len: usize,
            answer: *Result(Text, abi.WriteRefusal),
        ) void;
        pub extern "informant:plugin/kube@0.1.0" fn update(
            gvr: [*]const u8,
            gvr_len: usize,
            namespace: [*]const u8,
            namespace_len: usize,
            name: [*]const u8,
            name_len: usize,
            subresource: [*]const u8,
            subresource_len: usize,
            object: [*]const u8,
            object_len: usize,
            answer: *Result(Text, abi.WriteRefusal),
        ) void;
        pub extern "informant:plugin/kube@0.1.0" fn patch(
            gvr: [*]const u8,
            gvr_len: usize,
            namespace: [*]const u8,
            namespace_len: usize,
            name: [*]const u8,
            name_len: usize,
            subresource: [*]const u8,
            subresource_len: usize,
            patch_type: u32,
            force: u32,
            body: [*]const u8,
            body_len: usize,
            answer: *Result(Text, abi.WriteRefusal),
        ) void;
        pub extern "informant:plugin/kube@0.1.0" fn delete(
            gvr: [*]const u8,
            gvr_len: usize,
            namespace: [*]const u8,
            namespace_len: usize,
            name: [*]const u8,
            name_len: usize,
            some_uid: u32,
            uid: [*]const u8,
            uid_len: usize,
            answer: *Result(abi.Nothing, abi.WriteRefusal),
        ) void;
        pub extern "informant:plugin/kube@0.1.0" fn @"record-event"(
            gvr: [*]const u8,
            gvr_len: usize,
            namespace: [*]const u8,
            namespace_len: usize,
            name: [*]const u8,
            name_len: usize,
            warning: u32,
            reason: [*]const u8,
            reason_len: usize,
            message: [*]const u8,
            message_len: usize,
            answer: *Result(abi.Nothing, abi.WriteRefusal),
        ) void;
    };

    pub const http = struct {
        pub extern "informant:plugin/http@0.1.0" fn send(
            method: [*]const u8,
            method_len: usize,
            url: [*]const u8,
            url_len: usize,
            headers: [*]const abi.Pair,
            header_count: usize,
            body: [*]const u8,
            body_len: usize,
            timeout_ms: u32,
            answer: *Result(abi.Response, abi.Refusal),
        ) void;
    };

    pub const host_info = struct {
        pub extern "informant:plugin/host-info@0.1.0" fn @"is-leader"() u32;
        pub extern "informant:plugin/host-info@0.1.0" fn @"plugin-name"(answer: *Text) void;
        pub extern "informant:plugin/host-info@0.1.0" fn shard(answer: *[2]u32) void;
        pub extern "informant:plugin/host-info@0.1.0" fn @"host-version"(answer: *Text) void;
    };
};
