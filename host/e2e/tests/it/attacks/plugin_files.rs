//! Plugin files whose check costs too much stack, memory or time. Each is dropped beside a plugin that does its work.

use std::path::Path;
use std::time::{Duration, Instant};

use super::kept::{check_kept, measure, start_with_good};
use crate::host::bench::{CONFIGURATION_HEAD, HostBench, drop_file, host_fact};
use crate::host::golden;
use informant_e2e::host::Host;
use informant_e2e::paths;
use informant_e2e::percentiles::Percentiles;
use informant_e2e::promises::if_compared;
use serde_json::Value;
use wasm_encoder::Encode as _;

/// The header of a component.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
/// The header of a core module.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";
/// Sections of components.
const CORE_MODULE: u8 = 1;
const CORE_INSTANCE: u8 = 2;
const INNER_COMPONENT: u8 = 4;
const INSTANCE: u8 = 5;
const ALIAS: u8 = 6;
const TYPE: u8 = 7;
const IMPORT: u8 = 10;
/// Sections of core modules.
const GLOBAL: u8 = 6;

/// A host ends within its grace.
const END_DEADLINE: Duration = Duration::from_secs(30);

fn leb(number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    number.encode(&mut bytes);
    bytes
}

fn section(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind], &leb(content.len())[..], content].concat()
}

/// A section with a vector: the number of items, and the items.
fn list(kind: u8, count: usize, items: &[u8]) -> Vec<u8> {
    section(kind, &[&leb(count)[..], items].concat())
}

fn component(sections: &[Vec<u8>]) -> Vec<u8> {
    [COMPONENT, &sections.concat()].concat()
}

/// Types of instances, each within another.
fn nested_types(depth: usize) -> Vec<u8> {
    let types = [b"\x42\x01\x01".repeat(depth), b"\x42\x00".to_vec()].concat();
    component(&[list(TYPE, 1, &types)])
}

/// One type of an instance with this number of declarations.
fn declarations(count: usize) -> Vec<u8> {
    let of_instance = [&b"\x42"[..], &leb(count), &b"\x01\x7f".repeat(count)].concat();
    component(&[list(TYPE, 1, &of_instance)])
}

/// Components, each with this number of types.
fn types(components: usize, count: usize) -> Vec<u8> {
    let inner = component(&[list(TYPE, count, &vec![0x7f; count])]);
    component(&vec![section(INNER_COMPONENT, &inner); components])
}

/// Instantiations that each compare a type with 2^`depth` leaves: `rows` components with `each` instantiations. All of
/// them compare the same two types.
pub(super) fn compared_types(depth: u8, each: usize, rows: usize) -> Vec<u8> {
    let name = |text: &str| [&leb(text.len())[..], text.as_bytes()].concat();
    let mut tuples = b"\x6f\x02\x7d\x7d".to_vec();
    for below in 0..depth - 1 {
        tuples.extend([0x6f, 2, below, below]);
    }
    let function = [&b"\x40\x01"[..], &name("x"), &[depth - 1], &b"\x01\x00"[..]].concat();
    let types = list(TYPE, usize::from(depth) + 1, &[tuples, function].concat());
    let import = |of: u8| list(IMPORT, 1, &[&b"\x00"[..], &name("f"), &[1, of]].concat());
    let asks = component(&[types.clone(), import(depth)]);
    // The component that imports, and the function's type, both of the outer component.
    let outer = list(ALIAS, 2, &[4, 2, 1, 0, 3, 2, 1, depth]);
    let made = [&b"\x00\x00\x01"[..], &name("f"), &b"\x01\x00"[..]].concat();
    let row = component(&[outer, import(0), list(INSTANCE, each, &made.repeat(each))]);
    let rows = section(INNER_COMPONENT, &row).repeat(rows);
    component(&[types, section(INNER_COMPONENT, &asks), rows])
}

/// A complete plugin that also instantiates a core module with `count` globals, `times` times.
fn globals(count: usize, times: usize) -> Vec<u8> {
    let golden = paths::root().join("plugins/golden/0.1.0/js.wasm.zst");
    let plugin = golden::unpacked(Path::new(&golden));
    let module = [MODULE, &list(GLOBAL, count, &b"\x7e\x00\x42\x00\x0b".repeat(count))].concat();
    let instance = [&b"\x00"[..], &leb(core_modules(&plugin)), &b"\x00"[..]].concat();
    [plugin, section(CORE_MODULE, &module), list(CORE_INSTANCE, times, &instance.repeat(times))]
        .concat()
}

/// The number of core modules on a component's outermost level.
fn core_modules(component: &[u8]) -> usize {
    let (mut at, mut found) = (COMPONENT.len(), 0);
    while at < component.len() {
        found += usize::from(component[at] == CORE_MODULE);
        at += 1;
        let (mut length, mut shift) = (0, 0);
        while component[at] & 0x80 != 0 {
            length |= usize::from(component[at] & 0x7f) << shift;
            (at, shift) = (at + 1, shift + 7);
        }
        length |= usize::from(component[at]) << shift;
        at += 1 + length;
    }
    found
}

/// Runs a host beside a good plugin, and measures its promises while `then` attacks the host.
async fn beside_a_good_plugin(bench: HostBench<'_>, then: impl AsyncFnOnce(&HostBench<'_>, &Host)) {
    let mut host = start_with_good(&bench).await;
    let promises = measure(&bench, &host).await;
    then(&bench, &host).await;
    check_kept(promises).await;
    host.check_running().unwrap();
    host.terminate(END_DEADLINE).unwrap();
}

/// The file is refused for one of these reasons, and has no other effect.
fn check_refused(file: impl FnOnce() -> Vec<u8>, reasons: &[&str]) {
    host_fact(async |bench| {
        beside_a_good_plugin(bench, async |bench, host| {
            std::fs::write(bench.plugins.join("bad.wasm"), file()).expect("a file");
            let refused = |plugin: &Value| plugin["lastLoad"]["reason"].is_string();
            let plugin = host.await_plugin("bad", "it to be refused", refused).await.unwrap();
            let reason = plugin["lastLoad"]["reason"].as_str().unwrap_or_default();
            assert!(reasons.iter().any(|expect| reason.contains(expect)), "{reason}");
            assert_eq!(plugin["state"], "stopped", "{plugin}");
        })
        .await;
    });
}

/// The compiler's errors about memory, at either of its bounds.
const TOO_MUCH_MEMORY: &str = "that the compiler may use";
const TOO_DEEP: &str = "nests too deeply";

/// Invariant 32.
#[test]
fn types_that_nest_without_end_end_the_process_that_reads_them() {
    // A checker that counts the levels may refuse the file first.
    check_refused(|| nested_types(5_000), &[TOO_DEEP, "nesting"]);
    // Almost the largest number of bytes of types.
    check_refused(|| nested_types(80_000), &[TOO_DEEP, "nesting", TOO_MUCH_MEMORY]);
}

#[test]
fn a_section_that_claims_gigabytes_is_not_believed() {
    let claims = [COMPONENT, b"\x07\xff\xff\xff\xff\x0f"].concat();
    check_refused(|| claims, &["goes beyond the end"]);
    // The same one level deeper, where the host does not check.
    let inner = [COMPONENT, b"\x07\xff\xff\xff\xff\x0f"].concat();
    let outer = component(&[section(INNER_COMPONENT, &inner)]);
    check_refused(|| outer, &["damaged", "keep the contract", TOO_MUCH_MEMORY]);
}

#[test]
fn types_and_declarations_by_the_million_are_refused() {
    let reasons = [TOO_MUCH_MEMORY, "does not export", "damaged", "exceeds"];
    // Almost the largest number of bytes of types.
    check_refused(|| declarations(120_000), &reasons);
    check_refused(|| declarations(1_000_000), &["bytes of types, all its modules together"]);
    // A host holds a file's own bytes, and once more while a check reads them again. These have 12 MB.
    check_refused(|| types(12, 990_000), &["types, all its modules together"]);
}

#[test]
fn globals_are_a_part_of_what_an_instance_may_take() {
    check_refused(|| globals(150_000, 60), &["for globals and functions alone", TOO_MUCH_MEMORY]);
}

/// Comparing these types takes hours. Meanwhile another file loads, a grant can be taken away, and the host can end.
#[test]
fn a_file_that_takes_hours_to_look_at_holds_nobody_up() {
    host_fact(async |bench| {
        beside_a_good_plugin(bench, async |bench, host| {
            let hangs = compared_types(18, 990, 600);
            for name in ["hangs", "event-printer"] {
                let file = bench.plugins.join(format!(".{name}"));
                std::fs::write(&file, &hangs).expect("a file");
                drop_file(&file, &bench.plugins.join(format!("{name}.wasm")));
            }
            let loads = |plugin: &Value| plugin["state"] == "loading";
            host.await_plugin("hangs", "it to be looked at", loads).await.unwrap();
            bench.drop_plugin("counter", "counter");
            let runs = |plugin: &Value| plugin["state"] == "running";
            host.await_plugin("counter", "it to run", runs).await.unwrap();
            let withdrawn = format!("{CONFIGURATION_HEAD}PluginConfiguration\nreads: []\n");
            std::fs::write(bench.plugins.join("counter.yaml"), &withdrawn).expect("a file");
            let waits = |plugin: &Value| plugin["restricted"].is_string();
            host.await_plugin("counter", "its grant to be gone", waits).await.unwrap();
            // The plugin's next version hangs. That must not keep the old version's grant in force.
            let nodes = "reads: [{resources: [v1/pods, v1/nodes]}]";
            let text = format!("{CONFIGURATION_HEAD}PluginConfiguration\n{nodes}\n");
            std::fs::write(bench.plugins.join("event-printer.yaml"), text).expect("a file");
            host.await_plugin("event-printer", "its grant to be another", waits).await.unwrap();
            let plugin = host.plugin("hangs").expect("it is listed");
            assert_eq!(plugin["state"], "loading", "{plugin}");
        })
        .await;
    });
}

/// Takes a grant of a running plugin away, and gives it back. Returns the time from the new configuration to the end
/// of the grant.
async fn revoke(bench: &HostBench<'_>, host: &Host) -> Duration {
    let file = bench.plugins.join("counter.yaml");
    let text = format!("{CONFIGURATION_HEAD}PluginConfiguration\nreads: []\n");
    let began = Instant::now();
    std::fs::write(&file, text).expect("a file");
    let is_gone = |plugin: &Value| plugin["restricted"].is_string();
    host.await_plugin("counter", "its grant to be gone", is_gone).await.unwrap();
    let took = began.elapsed();
    std::fs::remove_file(&file).expect("it is there");
    let is_back = |plugin: &Value| plugin["restricted"].is_null() && plugin["state"] == "running";
    host.await_plugin("counter", "its grant to be back", is_back).await.unwrap();
    took
}

/// The median of several revocations.
async fn revocations(bench: &HostBench<'_>, host: &Host) -> Duration {
    let mut times = Vec::new();
    for _ in 0..if_compared(9, 3) {
        times.push(revoke(bench, host).await);
    }
    times.sort_unstable();
    Percentiles::of(&times).half
}

/// The load is still running after every revocation. Where times are compared it delays them by at most 100 ms. If a
/// revocation itself takes longer, chance may double that. Beside other tests the bound is far above their influence.
/// Invariant 40.
#[test]
#[allow(clippy::print_stdout)] // The harness keeps it, and shows it with `--nocapture`.
fn a_load_that_hangs_delays_no_revocation() {
    let delay_max = if_compared(Duration::from_millis(100), Duration::from_secs(10));
    host_fact(async |bench| {
        let mut host = start_with_good(&bench).await;
        bench.drop_plugin("counter", "counter");
        let runs = |plugin: &Value| plugin["state"] == "running";
        host.await_plugin("counter", "it to run", runs).await.unwrap();
        let alone = revocations(&bench, &host).await;
        let file = bench.plugins.join(".hangs");
        std::fs::write(&file, compared_types(18, 990, 600)).expect("a file");
        drop_file(&file, &bench.plugins.join("hangs.wasm"));
        let loads = |plugin: &Value| plugin["state"] == "loading";
        host.await_plugin("hangs", "it to be looked at", loads).await.unwrap();
        let beside = revocations(&bench, &host).await;
        let plugin = host.plugin("hangs").expect("it is listed");
        assert_eq!(plugin["state"], "loading", "{plugin}");
        let delay = beside.saturating_sub(alone);
        println!("a revocation takes {alone:.1?}, and {beside:.1?} beside a load that hangs");
        assert!(delay <= delay_max.max(alone), "{beside:?} instead of {alone:?}");
        host.terminate(END_DEADLINE).unwrap();
    });
}
