//! Guests at the bounds of what they may use: `hello` with a sin written into it.

use super::configuration::yaml;
use super::{Bench, DEADLINE, DESCRIPTOR, HELLO, described, is, last_load, pod, swap};
use informant_runtime::configuration::Configurations;
use informant_runtime::{Limits, NoCluster, NoHttp, NoReviews, PluginStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// `hello` with more memory, `fields` of `event-data`, more declarations, and code that `handle` begins with.
pub(crate) fn guest(declarations: &str, handle: &str) -> Vec<u8> {
    let fields = r#"(import "informant:plugin/event-data@0.1.0" "fields"
        (func $fields (param i32 i32 i32 i32)))"#;
    let memory = r#"(memory (export "memory") 1)"#;
    let more = format!(r#"{fields} (memory (export "memory") 32) {declarations}"#);
    let begin = "(local $line i32) (local $end i32)\n";
    let text = swap(HELLO, memory, &more);
    wat::parse_str(swap(&text, begin, &format!("{begin}{handle}\n"))).expect("it is well formed")
}

fn shown(status: Option<&PluginStatus>) -> String {
    status.map(|status| status.to_json().to_string()).unwrap_or_default()
}

/// `/plugins` tells of the sin, and another plugin's events come.
async fn check(declarations: &str, handle: &str, told: &str) -> String {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    bench.drop_in("sinner.wasm", &guest(declarations, handle));
    bench.drop_in("hello.wasm", &super::hello());
    bench.until("sinner", |status| shown(status).contains(told)).await;
    bench.until("hello", |status| is(status, "running") && super::handled(status) == 1).await;
    let shown = shown(bench.status("sinner").as_ref());
    bench.stop().await;
    shown
}

#[tokio::test]
async fn a_call_for_too_many_fields_ends_the_instance() {
    let ask = "(call $fields (i32.const 0) (i32.const 65536) (i32.const 170000) (i32.const 400))";
    check("", ask, "fields of 170000 pointers were asked for, at most 256 at once").await;
}

#[tokio::test]
async fn a_guest_that_spins_ends_at_its_deadline() {
    check("", "(loop $for_ever (br $for_ever))", "the deadline of 1000 ms was exceeded").await;
}

#[tokio::test]
async fn a_trap_says_where_in_the_guest_it_happened() {
    let down =
        "(func $_ZN4mine4down17h0123456789abcdefE (call $_ZN4mine4down17h0123456789abcdefE))";
    let told = "trap: call stack exhausted, in mine::down (48 times)";
    check(down, "(call $_ZN4mine4down17h0123456789abcdefE)", told).await;
    let two = "(func $inner unreachable) (func $outer (call $inner))";
    check(two, "(call $outer)", ", in inner < outer < ").await;
}

/// `hello` whose `export` never ends, and with `stateful`.
fn endless(export: &str) -> Vec<u8> {
    let spins = |name: &str| match name == export {
        true => "(loop $for_ever (br $for_ever))",
        false => "",
    };
    let stateful = format!(
        r#"(data (i32.const 400) "\00\00\00\00\01\00\00\00\c0\01\00\00\05\00\00\00")
        (func (export "informant:plugin/stateful@0.1.0#snapshot") (result i32)
          {} (i32.const 400))
        (func (export "informant:plugin/stateful@0.1.0#restore")
          (param i32 i32 i32 i32) (result i32)
          {} (i32.const 320))"#,
        spins("snapshot"),
        spins("restore")
    );
    let memory = r#"(memory (export "memory") 1)"#;
    let mut text = swap(HELLO, memory, &format!("{memory} {stateful}"));
    let heads = [
        ("describe", r#"#describe") (param $config i32) (param $len i32) (result i32)"#),
        ("start", r#"#start") (param $config i32) (param $len i32) (result i32)"#),
        ("stop", r#"lifecycle@0.1.0#stop""#),
        ("handle", "(local $line i32) (local $end i32)"),
    ];
    for (name, head) in heads.into_iter().filter(|(name, _)| *name == export) {
        let close = if name == "stop" { ")" } else { "" };
        text = swap(&text, &format!("{head}{close}"), &format!("{head}{close} {}", spins(name)));
    }
    wat::parse_str(text).expect("it is well formed")
}

/// Invariant 27.
#[tokio::test]
async fn every_export_has_a_deadline() {
    let deadline = Duration::from_millis(50);
    let limits = Limits {
        handle_deadline: deadline,
        start_deadline: deadline,
        stop_deadline: deadline,
        ..Limits::default()
    };
    let bench = Bench::start_with(None, &limits);
    bench.source.add(&pod("a"));
    let ends = "the deadline of 50 ms was exceeded";
    for export in ["describe", "start", "handle"] {
        bench.drop_in(&format!("{export}.wasm"), &endless(export));
        bench.until(export, |status| shown(status).contains(ends)).await;
    }
    for (export, told) in [("snapshot", "\"deadline\":1"), ("restore", ends), ("stop", ends)] {
        let name = format!("{export}.wasm");
        let (first, second) = (endless(export), [endless(export), vec![0, 2, 1, b'v']].concat());
        bench.drop_in(&name, &first);
        bench.until(export, |status| is(status, "running")).await;
        bench.drop_in(&name, &second);
        bench.until(export, |status| shown(status).contains(told)).await;
    }
    bench.stop().await;
}

/// Each may spin for an hour, and the host ends.
#[tokio::test]
async fn plugins_that_spin_in_stop_do_not_hold_the_end_of_the_host_up() {
    let limits = Limits { stop_deadline: Duration::from_secs(3600), ..Limits::default() };
    let ways = (Arc::new(NoCluster) as _, Arc::new(NoHttp) as _, Arc::new(NoReviews) as _);
    let configured = (None, Configurations::with_limits(&limits));
    let time = Duration::from_millis(20);
    let bench = Bench::start_ending_in(time, configured, (None, None), ways);
    for name in ["a", "b", "c"] {
        bench.drop_in(&format!("{name}.wasm"), &endless("stop"));
        bench.until(name, |status| is(status, "running")).await;
    }
    tokio::time::timeout(DEADLINE, bench.stop()).await.expect("the host ends");
}

/// The sin answers with an error of a million NUL characters, not to be tried again.
#[tokio::test]
async fn what_a_failure_says_is_cut_and_escaped() {
    let fail = "(i32.store8 (i32.const 320) (i32.const 1))
        (i32.store (i32.const 328) (i32.const 65536))
        (i32.store (i32.const 332) (i32.const 1000000))
        (i32.store8 (i32.const 336) (i32.const 2))
        (return (i32.const 320))";
    let shown = check("", fail, "bytes more)").await;
    assert!(shown.len() < 8 << 10, "{} bytes: {shown}", shown.len());
    assert!(shown.contains(r"\\u{0}\\u{0}"), "{shown}");
}

/// The first of twelve lines about the end of `describe` has the trap, and each other one a frame. A few fit into the
/// budget.
#[tokio::test]
async fn the_lines_of_a_load_come_out_of_the_plugins_log_budget() {
    let bench = Bench::start_with(None, &Limits { log_lines_per_second: 1, ..Limits::default() });
    let head = r#"#describe") (param $config i32) (param $len i32) (result i32)"#;
    let text = swap(HELLO, head, &format!("{head} (call $f0)"));
    let calls = (0..9).map(|number| format!("(func $f{number} (call $f{}))", number + 1));
    let memory = r#"(memory (export "memory") 1)"#;
    let functions = format!("{memory} (func $f9 unreachable) {}", calls.collect::<String>());
    let guest = wat::parse_str(swap(&text, memory, &functions)).expect("it is well formed");
    bench.drop_in("traps.wasm", &guest);
    bench.until("traps", |status| last_load(status).contains("in f9 < f8 < f7")).await;
    let status = bench.status("traps").expect("it is there");
    let dropped = status.counters.log_lines_dropped.load(Relaxed);
    assert!((6..=10).contains(&dropped), "{dropped}");
    bench.stop().await;
}

/// A pod whose bytes do not compress.
fn large_pod(name: &str) -> String {
    let text: String = std::iter::repeat_with(fastrand::alphanumeric).take(1 << 20).collect();
    let head = format!(r#"{{"metadata":{{"name":"{name}","namespace":"default","annotations":"#);
    format!(r#"{head}{{"text":"{text}"}}}}}}"#)
}

/// Events wait, so that there is no room for an instance beside the one in charge.
#[tokio::test]
async fn a_version_that_was_refused_for_memory_is_loaded_when_there_is_room() {
    const PODS: usize = 6;
    let bench = Bench::start();
    let name: informant_runtime::PluginName = "hello".parse().expect("a name");
    bench.drop_in("hello.wasm", &guest("", ""));
    bench.until("hello", |status| is(status, "running")).await;
    bench.admin.pause(&name).await.expect("it is paused");
    for number in 0..PODS {
        bench.source.add(&large_pod(&format!("pod-{number}")));
    }
    let wait = |status: Option<&PluginStatus>| status.is_some_and(|it| it.queue.depth == PODS);
    bench.until("hello", wait).await;
    let holds = bench.status("hello").expect("it is there").account.memory_bytes();
    let limits = format!("limits: {{hostMemory: {}}}", holds + (1 << 20));
    bench.drop_in("hello.yaml", &yaml(&limits));
    let refused = "(limits.hostMemory)";
    bench.until("hello", |status| last_load(status).contains(refused)).await;
    let again = "; it is loaded again if the plugin holds less";
    assert!(last_load(bench.status("hello").as_ref()).contains(again));
    bench.admin.resume(&name).await.expect("it is resumed");
    bench.until("hello", |status| last_load(status) == "\"ok\": null").await;
    let is_done = |status: Option<&PluginStatus>| super::handled(status) == PODS as u64;
    bench.until("hello", |status| is(status, "running") && is_done(status)).await;
    bench.stop().await;
}

/// Sixteen indexes of a thousand values in each of thousands of objects would take gigabytes before the first call.
#[tokio::test]
async fn indexes_that_the_account_has_no_room_for_are_filled_no_further() {
    const PODS: usize = 300;
    let bench = Bench::start_with(None, &Limits { host_memory_max: 8 << 20, ..Limits::default() });
    let labels: Vec<String> = (0..1000).map(|label| format!(r#""l{label}":"{label}""#)).collect();
    for number in 0..PODS {
        let name = format!(r#""name":"pod-{number}","namespace":"default""#);
        let labels = labels.join(",").replace("\":\"", &format!("\":\"{number}-"));
        bench.source.add(&format!(r#"{{"metadata":{{{name},"labels":{{{labels}}}}}}}"#));
    }
    bench.drop_in("hello.wasm", &super::hello());
    bench.until("hello", |status| super::handled(status) == PODS as u64).await;
    let index =
        r#"}],"indexes":[{"resource":"v1/pods","name":"l","pointer":"/metadata/labels/*"}]}"#;
    let text = described(&DESCRIPTOR.replace("}]}", index));
    bench.drop_in("hello.wasm", &wat::parse_str(text).expect("it is well formed"));
    bench
        .until("hello", |status| last_load(status).contains("(limits.hostMemory): indexes "))
        .await;
    // The version before goes on, without the indexes.
    bench.source.add(&pod("late"));
    bench.until("hello", |status| super::handled(status) == PODS as u64 + 1).await;
    let holds = |part| bench.status("hello").map(|status| status.account.memory_of(part));
    assert_eq!(holds("indexes"), Some(0));
    bench.stop().await;
}

/// For a moment both versions use the index, whose memory is charged once.
#[tokio::test]
async fn a_reload_with_the_same_indexes_needs_their_memory_once() {
    let bench = Bench::start_with(None, &Limits { host_memory_max: 8 << 20, ..Limits::default() });
    let labels: Vec<String> = (0..1000).map(|label| format!(r#""l{label}":"{label}""#)).collect();
    for number in 0..40 {
        let name = format!(r#""name":"pod-{number}","namespace":"default""#);
        bench
            .source
            .add(&format!(r#"{{"metadata":{{{name},"labels":{{{}}}}}}}"#, labels.join(",")));
    }
    let index =
        r#"}],"indexes":[{"resource":"v1/pods","name":"l","pointer":"/metadata/labels/*"}]}"#;
    let text = described(&DESCRIPTOR.replace("}]}", index));
    bench.drop_in("hello.wasm", &wat::parse_str(&text).expect("it is well formed"));
    let holds = |status: Option<&PluginStatus>| {
        status.map_or(0, |status| status.account.memory_of("indexes"))
    };
    bench.until("hello", |status| super::handled(status) == 40 && holds(status) > 3 << 20).await;
    let before = holds(bench.status("hello").as_ref());
    let memory = r#"(memory (export "memory") 1)"#;
    let again = swap(&text, memory, &format!("{memory} (global i32 (i32.const 7))"));
    bench.drop_in("hello.wasm", &wat::parse_str(&again).expect("it is well formed"));
    let reloads = |status: &PluginStatus| {
        status.counters.reloads_ok.load(std::sync::atomic::Ordering::Relaxed)
    };
    bench.until("hello", |status| status.is_some_and(|status| reloads(status) == 1)).await;
    assert_eq!(holds(bench.status("hello").as_ref()), before);
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_that_is_stopped_for_its_memory_says_what_is_lost() {
    let fail = "(drop (memory.grow (i32.const 16)))
        (i32.store8 (i32.const 320) (i32.const 1))
        (i32.store (i32.const 328) (i32.const 65536))
        (i32.store (i32.const 332) (i32.const 3))
        (i32.store8 (i32.const 336) (i32.const 2))
        (return (i32.const 320))";
    let limits = Limits { host_memory_max: 8 << 20, ..Limits::default() };
    let bench = Bench::start_with(None, &limits);
    bench.drop_in("sinner.wasm", &guest("", fail));
    bench.until("sinner", |status| is(status, "running")).await;
    bench.source.add(&pod("a"));
    let letters = |status: Option<&PluginStatus>| status.is_some_and(|it| it.dead_letters == 1);
    bench.until("sinner", letters).await;
    for name in ["b", "c", "d", "e", "f", "g", "h", "i"] {
        bench.source.add(&pod(name));
    }
    let lost = " and 0 values of its state, because this host has no state directory";
    bench.until("sinner", |status| shown(status).contains(lost)).await;
    bench.stop().await;
}

#[tokio::test]
async fn more_tables_elements_or_memories_than_allowed_do_not_start() {
    check(&"(table 1 funcref)".repeat(65), "", "table count too high").await;
    check(
        "(table 60000 funcref) (table 60000 funcref)",
        "",
        "tables of more than 100000 elements were asked for",
    )
    .await;
    check(&"(memory 1)".repeat(16), "", "memory count too high").await;
}

/// Eight shards of 61 memories each would have 2 TiB of the address space, and a few dozen of such files all of it.
#[tokio::test]
async fn files_of_many_memories_leave_address_space_for_others() {
    let bench = Bench::start_with(None, &Limits { memories_max: 64, ..Limits::default() });
    let many = guest(&"(memory 0)".repeat(60), "");
    let drop_in = |name: &str| {
        bench.drop_in(&format!("{name}.yaml"), &yaml("shards: 8"));
        bench.drop_in(&format!("{name}.wasm"), &many);
    };
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        drop_in(name);
        bench.until(name, |status| is(status, "running")).await;
    }
    drop_in("i");
    let told = "there is no room in this host's address space";
    bench.until("i", |status| shown(status).contains(told)).await;
    bench.drop_in("hello.wasm", &super::hello());
    bench.until("hello", |status| is(status, "running")).await;
    // What one had is there for the next.
    std::fs::remove_file(bench.directory().join("a.wasm")).expect("it is there");
    bench.until("a", |status| status.is_none()).await;
    drop_in("j");
    bench.until("j", |status| is(status, "running")).await;
    bench.stop().await;
}

#[tokio::test]
async fn what_a_file_says_of_itself_is_cut_and_escaped() {
    let import = format!(r#"(import "\1b[2J{}" "f" (func)) (import"#, "x".repeat(50_000));
    let file = wat::parse_str(HELLO.replacen("(import", &import, 1)).expect("it is well formed");
    let bench = Bench::start();
    bench.drop_in("sinner.wasm", &file);
    bench.until("sinner", |status| is(status, "stopped")).await;
    let shown = shown(bench.status("sinner").as_ref());
    assert!(shown.len() < 8 << 10, "{} bytes", shown.len());
    assert!(!shown.contains(r"\u001b") && shown.contains("bytes more)"), "{shown}");
    bench.stop().await;
}
