//! Components that import only WASI: their answers, and their ends.

use super::{define, link};
use crate::contract::component::wasi::everything;
use crate::contract::limits::Limits;
use crate::guest::engine::Engine;
use crate::guest::guest_state::GuestState;
use crate::guest::instance::HANDLES_MAX;
use crate::log_budget::LogBudget;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasmtime::component::{Component, Linker};
use wasmtime::{Store, UpdateDeadline};

/// A component's imports, and the functions of each: the import's WIT function, and its name and type in the code.
struct Imports<'a> {
    types: &'a str,
    functions: &'a [(&'a str, &'a str, &'a str)],
}

/// A component whose `run` is this code; it may return a number.
fn component(imports: &Imports<'_>, code: &str) -> String {
    let (mut lowered, mut imported, mut with) = (String::new(), String::new(), String::new());
    for (wit, name, kind) in imports.functions {
        lowered += &format!(
            "(core func ${name} (canon lower (func {wit}) (memory $memory) (realloc $realloc)))\n"
        );
        imported += &format!(r#"(import "" "{name}" (func ${name} {kind}))"#);
        with += &format!(r#"(export "{name}" (func ${name}))"#);
    }
    format!(
        r#"(component
        {}
        (core module $memories
          (memory (export "memory") 40)
          (global $heap (mut i32) (i32.const 65536))
          (func (export "realloc") (param i32 i32 i32 i32) (result i32)
            (global.get $heap)
            (global.set $heap (i32.add (global.get $heap) (local.get 3)))))
        (core instance $memories (instantiate $memories))
        (alias core export $memories "memory" (core memory $memory))
        (alias core export $memories "realloc" (core func $realloc))
        {lowered}
        (core module $code
          (import "" "memory" (memory 1))
          {imported}
          (func (export "run") (result i64) {code}))
        (core instance $code (instantiate $code (with "" (instance
          (export "memory" (memory $memory)) {with}))))
        (func (export "run") (result u64) (canon lift (core func $code "run"))))"#,
        imports.types
    )
}

/// The result of `run`, or the error, for a guest that may wait for so long.
async fn run(imports: &Imports<'_>, code: &str, may_wait: Duration) -> Result<u64, String> {
    let engine = Engine::new().expect("an engine");
    let text = component(imports, code);
    let file = wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let component = Component::new(engine.wasmtime(), file).expect("it compiles");
    let mut linker = Linker::new(engine.wasmtime());
    let found = link(&mut linker, &component).expect("it is linked");
    assert!(!found.interfaces.is_empty());
    let limits = Arc::<Limits>::default();
    let budget = LogBudget::new(&*limits, Arc::default(), Instant::now());
    let name = "guest".parse().expect("a name");
    let mut store = Store::new(engine.wasmtime(), GuestState::new(name, &limits, budget, None));
    store.limiter(|state| &mut state.limiter);
    store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Continue(1)));
    store.set_epoch_deadline(1);
    store.set_hostcall_fuel(limits.hostcall_bytes_max);
    store.set_max_component_handles(HANDLES_MAX);
    store.data().clock.arm(Instant::now(), Duration::from_secs(60), may_wait);
    let told = |error: wasmtime::Error| error.root_cause().to_string();
    let instance = linker.instantiate_async(&mut store, &component).await.map_err(told)?;
    let run = instance.get_typed_func::<(), (u64,)>(&mut store, "run").map_err(told)?;
    let answer = run.call_async(&mut store, ()).await.map_err(told);
    answer.map(|(number,)| number)
}

#[track_caller]
fn is_told(answer: Result<u64, String>, expect: &str) {
    let error = answer.expect_err("its instance ends");
    assert!(error.contains(expect), "{error}");
}

/// Longer than any of these takes.
const MOMENT: Duration = Duration::from_secs(30);

const RANDOM: Imports<'_> = Imports {
    types: r#"(import "wasi:random/random@0.2.3" (instance $random
        (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))"#,
    functions: &[(r#"$random "get-random-bytes""#, "bytes", "(param i64 i32)")],
};

#[tokio::test]
async fn random_bytes_are_given_up_to_their_bound() {
    let ask = |length: u64| {
        format!("(call $bytes (i64.const {length}) (i32.const 16)) (i64.load32_u (i32.const 20))")
    };
    assert_eq!(run(&RANDOM, &ask(1 << 20), MOMENT).await, Ok(1 << 20));
    for length in [(1 << 20) + 1, u64::MAX >> 1] {
        is_told(run(&RANDOM, &ask(length), MOMENT).await, "random bytes at once, at most 1048576");
    }
}

const OUTPUT: Imports<'_> = Imports {
    types: r#"
        (import "wasi:io/error@0.2.0" (instance $error (export "error" (type (sub resource)))))
        (alias export $error "error" (type $error))
        (import "wasi:io/streams@0.2.0" (instance $streams
          (alias outer 1 $error (type $error_))
          (export "error" (type $error (eq $error_)))
          (export "output-stream" (type $output-stream (sub resource)))
          (type $stream-error_ (variant (case "last-operation-failed" (own $error)) (case "closed")))
          (export "stream-error" (type $stream-error (eq $stream-error_)))
          (export "[method]output-stream.write" (func (param "self" (borrow $output-stream))
            (param "contents" (list u8)) (result (result (error $stream-error)))))))
        (alias export $streams "output-stream" (type $output-stream))
        (import "wasi:cli/stdout@0.2.12" (instance $stdout
          (alias outer 1 $output-stream (type $stream_))
          (export "output-stream" (type $stream (eq $stream_)))
          (export "get-stdout" (func (result (own $stream))))))"#,
    functions: &[
        (r#"$stdout "get-stdout""#, "stdout", "(result i32)"),
        (r#"$streams "[method]output-stream.write""#, "write", "(param i32 i32 i32 i32)"),
    ],
};

#[tokio::test]
async fn output_is_taken_up_to_its_bound() {
    let write = |length: u32| {
        format!(
            "(call $write (call $stdout) (i32.const 0) (i32.const {length}) (i32.const 16))
            (i64.load8_u (i32.const 16))"
        )
    };
    assert_eq!(run(&OUTPUT, &write(64 << 10), MOMENT).await, Ok(0), "that is ok");
    let one_more = run(&OUTPUT, &write((64 << 10) + 1), MOMENT).await;
    is_told(one_more, "it wrote 65537 bytes at once");
    // All bytes of a memory of 4 GiB, minus one.
    is_told(run(&OUTPUT, &write(u32::MAX), MOMENT).await, "out of bounds");
}

#[tokio::test]
async fn handles_of_resources_are_bounded() {
    let open = |times: usize| {
        format!(
            "(local $left i32) (local.set $left (i32.const {times}))
            (loop $more
              (drop (call $stdout))
              (local.set $left (i32.sub (local.get $left) (i32.const 1)))
              (br_if $more (local.get $left)))
            (i64.const 7)"
        )
    };
    assert_eq!(run(&OUTPUT, &open(HANDLES_MAX), MOMENT).await, Ok(7));
    is_told(run(&OUTPUT, &open(HANDLES_MAX + 1), MOMENT).await, "handle limit exceeded");
}

const CLOCK: Imports<'_> = Imports {
    types: r#"
        (import "wasi:io/poll@0.2.0" (instance $poll
          (export "pollable" (type $pollable (sub resource)))
          (export "[method]pollable.ready" (func (param "self" (borrow $pollable)) (result bool)))
          (export "[method]pollable.block" (func (param "self" (borrow $pollable))))
          (export "poll" (func (param "in" (list (borrow $pollable))) (result (list u32))))))
        (alias export $poll "pollable" (type $pollable))
        (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
          (alias outer 1 $pollable (type $pollable_))
          (export "pollable" (type $pollable (eq $pollable_)))
          (export "now" (func (result u64)))
          (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))
          (export "subscribe-instant" (func (param "when" u64) (result (own $pollable))))))"#,
    functions: &[
        (r#"$clock "now""#, "now", "(result i64)"),
        (r#"$clock "subscribe-duration""#, "after", "(param i64) (result i32)"),
        (r#"$clock "subscribe-instant""#, "at", "(param i64) (result i32)"),
        (r#"$poll "poll""#, "poll", "(param i32 i32 i32)"),
        (r#"$poll "[method]pollable.ready""#, "ready", "(param i32) (result i32)"),
        (r#"$poll "[method]pollable.block""#, "block", "(param i32)"),
    ],
};

#[tokio::test]
async fn a_guest_sleeps_until_the_first_of_its_moments() {
    // An hour from now, and 20 ms from now: the second is ready after 20 ms.
    let sleep = "(local $began i64)
        (local.set $began (call $now))
        (i32.store (i32.const 16) (call $after (i64.const 3600000000000)))
        (i32.store (i32.const 20) (call $after (i64.const 20000000)))
        (call $poll (i32.const 16) (i32.const 2) (i32.const 32))
        (if (i32.ne (i32.load (i32.const 36)) (i32.const 1)) (then unreachable))
        (if (i32.ne (i32.load (i32.load (i32.const 32))) (i32.const 1)) (then unreachable))
        (if (call $ready (i32.load (i32.const 16))) (then unreachable))
        (call $block (i32.load (i32.const 20)))
        (call $block (call $at (local.get $began)))
        (i64.sub (call $now) (local.get $began))";
    let slept = run(&CLOCK, sleep, MOMENT).await.expect("it sleeps");
    assert!((20_000_000..30_000_000_000).contains(&slept), "{slept} ns");
}

#[tokio::test]
async fn a_guest_sleeps_no_longer_than_a_call_may_wait() {
    let sleep = "(call $block (call $after (i64.const -1))) (i64.const 0)";
    let told = "it slept for longer than a call may wait";
    is_told(run(&CLOCK, sleep, Duration::from_millis(20)).await, told);
    is_told(run(&CLOCK, sleep, Duration::ZERO).await, told);
    let waits_for_nothing =
        "(call $poll (i32.const 16) (i32.const 0) (i32.const 32)) (i64.const 0)";
    is_told(run(&CLOCK, waits_for_nothing, MOMENT).await, "it waits for 0 things with one call");
}

#[tokio::test]
async fn moments_without_end_end_the_instance() {
    let flood = "(loop $more (drop (call $after (i64.const 1))) (br $more)) (i64.const 0)";
    is_told(run(&CLOCK, flood, MOMENT).await, "it has 1000 moments to wait for");
}

#[tokio::test]
async fn an_exit_ends_the_instance_and_says_so() {
    let imports = Imports {
        types: r#"(import "wasi:cli/exit@0.2.6" (instance $exit
            (export "exit" (func (param "status" (result))))
            (export "exit-with-code" (func (param "status-code" u8)))))"#,
        functions: &[
            (r#"$exit "exit""#, "exit", "(param i32)"),
            (r#"$exit "exit-with-code""#, "code", "(param i32)"),
        ],
    };
    for (code, told) in [
        ("(call $exit (i32.const 0))", "it called exit(0)"),
        ("(call $exit (i32.const 1))", "it called exit(1)"),
        ("(call $code (i32.const 42))", "it called exit(42)"),
    ] {
        is_told(run(&imports, &format!("{code} (i64.const 0)"), MOMENT).await, told);
    }
}

#[tokio::test]
async fn there_is_no_network_and_no_environment_and_no_file() {
    let imports = Imports {
        types: r#"
            (import "wasi:sockets/network@0.2.0" (instance $network
              (export "network" (type (sub resource)))
              (type $code_ (enum "unknown" "access-denied" "not-supported"))
              (export "error-code" (type (eq $code_)))
              (type $family_ (enum "ipv4" "ipv6"))
              (export "ip-address-family" (type (eq $family_)))))
            (alias export $network "network" (type $net))
            (alias export $network "error-code" (type $code))
            (alias export $network "ip-address-family" (type $family))
            (import "wasi:sockets/tcp@0.2.0" (instance $tcp (export "tcp-socket" (type (sub resource)))))
            (alias export $tcp "tcp-socket" (type $socket))
            (import "wasi:sockets/tcp-create-socket@0.2.0" (instance $create
              (alias outer 1 $code (type $code_)) (export "error-code" (type $code (eq $code_)))
              (alias outer 1 $family (type $family_)) (export "ip-address-family" (type $family (eq $family_)))
              (alias outer 1 $socket (type $socket_)) (export "tcp-socket" (type $socket (eq $socket_)))
              (export "create-tcp-socket" (func (param "address-family" $family)
                (result (result (own $socket) (error $code)))))))
            (import "wasi:sockets/instance-network@0.2.0" (instance $instance-network
              (alias outer 1 $net (type $net_)) (export "network" (type $net (eq $net_)))
              (export "instance-network" (func (result (own $net))))))
            (import "wasi:sockets/ip-name-lookup@0.2.0" (instance $lookup
              (alias outer 1 $net (type $net_)) (export "network" (type $net (eq $net_)))
              (alias outer 1 $code (type $code_)) (export "error-code" (type $code (eq $code_)))
              (export "resolve-address-stream" (type $stream (sub resource)))
              (export "resolve-addresses" (func (param "network" (borrow $net)) (param "name" string)
                (result (result (own $stream) (error $code)))))))
            (import "wasi:cli/environment@0.2.0" (instance $environment
              (export "get-environment" (func (result (list (tuple string string)))))
              (export "initial-cwd" (func (result (option string))))))
            (import "wasi:filesystem/types@0.2.0" (instance $files
              (export "descriptor" (type $descriptor (sub resource)))
              (export "[method]descriptor.sync" (func (param "self" (borrow $descriptor)) (result bool)))))
            (alias export $files "descriptor" (type $descriptor))
            (import "wasi:filesystem/preopens@0.2.0" (instance $preopens
              (alias outer 1 $descriptor (type $descriptor_)) (export "descriptor" (type $descriptor (eq $descriptor_)))
              (export "get-directories" (func (result (list (tuple (own $descriptor) string)))))))"#,
        functions: &[
            (r#"$create "create-tcp-socket""#, "tcp", "(param i32 i32)"),
            (r#"$instance-network "instance-network""#, "network", "(result i32)"),
            (r#"$lookup "resolve-addresses""#, "resolve", "(param i32 i32 i32 i32)"),
            (r#"$environment "get-environment""#, "environment", "(param i32)"),
            (r#"$environment "initial-cwd""#, "directory", "(param i32)"),
            (r#"$preopens "get-directories""#, "directories", "(param i32)"),
            (r#"$files "[method]descriptor.sync""#, "sync", "(param i32) (result i32)"),
        ],
    };
    let ask = "(call $tcp (i32.const 0) (i32.const 16))
        (if (i32.ne (i32.load8_u (i32.const 16)) (i32.const 1)) (then unreachable))
        (if (i32.ne (i32.load8_u (i32.const 20)) (i32.const 1)) (then unreachable))
        (call $resolve (call $network) (i32.const 0) (i32.const 9) (i32.const 24))
        (if (i32.ne (i32.load8_u (i32.const 24)) (i32.const 1)) (then unreachable))
        (if (i32.ne (i32.load8_u (i32.const 28)) (i32.const 1)) (then unreachable))
        (call $environment (i32.const 32))
        (call $directory (i32.const 48))
        (call $directories (i32.const 64))
        (i64.add
          (i64.add (i64.load32_u (i32.const 36)) (i64.load8_u (i32.const 48)))
          (i64.load32_u (i32.const 68)))";
    assert_eq!(run(&imports, ask, MOMENT).await, Ok(0));
    let forged = "(i64.extend_i32_u (call $sync (i32.const 1)))";
    is_told(run(&imports, forged, MOMENT).await, "handle index");
}

#[tokio::test]
async fn another_type_than_the_real_one_ends_the_instance_or_does_not_link() {
    let imports = Imports {
        types: r#"(import "wasi:cli/environment@0.2.0" (instance $environment
            (export "get-environment" (func (result u32)))))"#,
        functions: &[(r#"$environment "get-environment""#, "environment", "(result i32)")],
    };
    let code = "(i64.extend_i32_u (call $environment))";
    is_told(run(&imports, code, MOMENT).await, "type mismatch");
    let typed = RANDOM.types.replace("(list u8)", "string");
    let imports = Imports { types: &typed, functions: RANDOM.functions };
    let code = "(call $bytes (i64.const 1) (i32.const 16)) (i64.const 0)";
    assert!(run(&imports, code, MOMENT).await.is_err());
}

#[test]
fn all_that_is_offered_is_there() {
    let engine = Engine::new().expect("an engine");
    let mut linker = Linker::<GuestState>::new(engine.wasmtime());
    linker.allow_shadowing(true);
    let mut count = 0;
    for (interface, function) in everything() {
        let mut place = linker.instance(&format!("wasi:{interface}@0.2.0")).expect("a place");
        let is_there = define(&mut place, interface, function).expect("it can be defined");
        assert!(is_there, "{interface}#{function}");
        count += 1;
    }
    assert!(count > 40, "{count}");
    let mut place = linker.instance("wasi:cli/exit@0.2.0").expect("a place");
    assert!(!define(&mut place, "cli/exit", "leave").expect("nothing is"));
    assert!(!define(&mut place, "cli/environment", "set").expect("nothing is"));
}
