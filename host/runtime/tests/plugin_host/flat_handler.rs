//! Plugins that export `flat-handler` beside `handler`.

use super::limits::guest;
use super::{Bench, handled, pod};

/// `hello`, whose `handler` begins with the first code and whose `flat-handler` with the second.
fn both(handler: &str, flat: &str) -> Vec<u8> {
    let export = format!(
        r#"(func (export "informant:plugin/flat-handler@0.1.0#handle")
          (param $seq i64) (param $subscription i32) (param $change i32) (param $reason i32) (param $deletion i32)
          (param $names i32) (param $names_len i32) (param $ends i64) (param $coalesced i32) (param $attempt i32)
          (param i32 i32 i32 i32 i32 i32) (result i32)
          {flat})
        (func (export "informant:plugin/flat-handler@0.1.0#last-failure") (result i32)
          (i32.const 328))"#
    );
    guest(&export, handler)
}

#[tokio::test]
async fn a_flat_handler_gets_the_event_in_place_of_the_other() {
    let bench = Bench::start();
    bench.source.add(&pod("web"));
    // It fails for good, with the names as its message, cut at the end of the UID, which is empty.
    let fail = "(i32.store (i32.const 328) (local.get $names))
        (i32.store (i32.const 332) (i32.wrap_i64 (i64.shr_u (local.get $ends) (i64.const 32))))
        (i32.store8 (i32.const 336) (i32.const 2))
        (i32.const 0)";
    bench.drop_in("flat.wasm", &both("unreachable", fail));
    bench.until("flat", |status| status.is_some_and(|it| it.dead_letters == 1)).await;
    let shown = bench.status("flat").map(|status| status.to_json().to_string());
    assert!(shown.as_deref().is_some_and(|it| it.contains("defaultweb")), "{shown:?}");
    bench.stop().await;
}

#[tokio::test]
async fn an_event_with_longer_names_than_the_flat_form_has_comes_as_a_record() {
    let bench = Bench::start();
    bench.source.add(&pod(&"x".repeat(70_000)));
    bench.drop_in("flat.wasm", &both("", "unreachable"));
    bench.until("flat", |status| handled(status) == 1).await;
    bench.stop().await;
}
