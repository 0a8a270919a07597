//! Guests that are called by the clock.

use super::{Bench, DESCRIPTOR, described, handled, is, last_load, pod, swap};
use informant_runtime::PluginStatus;
use std::sync::atomic::Ordering::Relaxed;

const BEAT: &str = r#"{"name":"beat","every":"100ms"}"#;
/// Answers with a failure: `retry` is 0 for the rate limiter, 2 for never.
const FAILS: &str = "(i32.store8 (i32.const 448) (i32.const 1))
    (i32.store8 (i32.const 464) (i32.const retry))
    (return (i32.const 448))";

/// `hello` with these schedules and no more, whether it is told of pods, and with this in `fire`.
fn guest(schedules: &str, is_told: bool, fire: &str) -> Vec<u8> {
    let schedules = format!(r#","schedules":[{schedules}]}}"#);
    let descriptor = match is_told {
        true => DESCRIPTOR.strip_suffix('}').expect("it is an object").to_owned(),
        false => r#"{"version":"0.1.0""#.to_owned(),
    };
    let text = described(&(descriptor + &schedules));
    let timer = format!(
        r#"(memory (export "memory") 1)
        (func (export "informant:plugin/timer@0.1.0#fire")
          (param $schedule i32) (param $length i32) (param $ms i64) (result i32)
          {fire}
          (i32.store8 (i32.const 448) (i32.const 0))
          (i32.const 448))
        (func (export "cabi_post_informant:plugin/timer@0.1.0#fire") (param i32)
          (call $free_all (local.get 0)))"#
    );
    let text = swap(&text, r#"(memory (export "memory") 1)"#, &timer);
    let handler = r#"(export "informant:plugin/handler@0.1.0#handle") "#;
    let post = r#"(export "cabi_post_informant:plugin/handler@0.1.0#handle") "#;
    let text = if is_told { text } else { swap(&swap(&text, handler, ""), post, "") };
    wat::parse_str(text).expect("it is well formed")
}

/// Moments that the guest took, calls that are to come again, and moments that were given up.
fn firings(status: Option<&PluginStatus>) -> [u64; 3] {
    let Some(counters) = status.map(|status| &status.counters) else { return [0; 3] };
    [&counters.firings_ok, &counters.firings_retry, &counters.firings_dead]
        .map(|counter| counter.load(Relaxed))
}

#[tokio::test]
async fn a_plugin_may_be_called_by_the_clock_alone() {
    let bench = Bench::start();
    bench.drop_in("timer.wasm", &guest(BEAT, false, ""));
    bench.until("timer", |status| is(status, "running") && firings(status)[0] >= 3).await;
    let shown = bench.status("timer").expect("it runs").to_json()["schedules"].clone();
    assert_eq!(shown[0]["name"], "beat");
    assert!(shown[0]["next"].is_string(), "{shown}");
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_that_is_called_by_the_clock_is_told_of_events() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    let noon = r#"{"name":"noon","cron":"0 12 * * *"}"#;
    bench.drop_in("timer.wasm", &guest(&[BEAT, noon].join(","), true, ""));
    bench.until("timer", |status| firings(status)[0] >= 1 && handled(status) == 1).await;
    bench.source.add(&pod("b"));
    bench.until("timer", |status| firings(status)[0] >= 2 && handled(status) == 2).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_firing_that_fails_comes_again_and_the_next_comes_in_any_case() {
    let bench = Bench::start();
    let once = "(if (i32.eqz (i32.load (i32.const 440))) (then
        (i32.store (i32.const 440) (i32.const 1))";
    let fails_once = format!("{once} {}))", FAILS.replace("retry", "0"));
    bench.drop_in("timer.wasm", &guest(BEAT, false, &fails_once));
    bench.until("timer", |status| firings(status)[1] == 1 && firings(status)[0] >= 1).await;
    bench.drop_in("never.wasm", &guest(BEAT, false, &FAILS.replace("retry", "2")));
    bench.until("never", |status| firings(status)[2] >= 2).await;
    assert_eq!(firings(bench.status("never").as_ref())[..2], [0, 0]);
    bench.stop().await;
}

#[tokio::test]
async fn a_trap_in_it_ends_the_instance_and_it_goes_on() {
    let bench = Bench::start();
    let slow = r#"{"name":"beat","every":"60s"}"#;
    bench.drop_in("timer.wasm", &guest(BEAT, false, "unreachable"));
    let trapped = |status: Option<&PluginStatus>| {
        status.is_some_and(|status| status.to_json()["counters"]["restarts"]["trap"] == 2)
    };
    bench.until("timer", trapped).await;
    bench.drop_in("timer.wasm", &guest(slow, false, ""));
    bench.until("timer", |status| is(status, "running")).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_schedule_is_called_on_request() {
    let bench = Bench::start();
    bench.drop_in("timer.wasm", &guest(r#"{"name":"hourly","every":"3600s"}"#, false, ""));
    bench.until("timer", |status| is(status, "running")).await;
    let name = "timer".parse().expect("a name");
    let fire = async |schedule: Option<&str>| {
        let said = bench.admin.fire(&name, schedule.map(str::to_owned)).await;
        said.unwrap_or_else(|refusal| refusal.to_string())
    };
    assert_eq!(fire(None).await, "schedule hourly is called");
    bench.until("timer", |status| firings(status)[0] == 1).await;
    bench.admin.pause(&name).await.expect("it pauses");
    let said = fire(Some("hourly")).await;
    assert_eq!(said, "schedule hourly is called once the plugin is resumed");
    assert_eq!(fire(Some("x")).await, "it has no schedule of that name; there are: hourly");
    assert_eq!(firings(bench.status("timer").as_ref())[0], 1);
    bench.admin.resume(&name).await.expect("it goes on");
    bench.until("timer", |status| firings(status)[0] == 2).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_schedule_of_a_tripped_plugin_waits() {
    let bench = Bench::start();
    bench.drop_in("timer.wasm", &guest(BEAT, false, &FAILS.replace("retry", "2")));
    bench.until("timer", |status| is(status, "tripped")).await;
    let said = bench.admin.fire(&"timer".parse().expect("a name"), None).await;
    let said = said.expect("there is one schedule");
    assert_eq!(
        said,
        "schedule beat is called when the tripped plugin is tried again, or is resumed"
    );
    bench.stop().await;
}

#[tokio::test]
async fn schedules_need_a_timer() {
    let bench = Bench::start();
    let schedules = format!(r#","schedules":[{BEAT}]}}"#);
    let text =
        described(&(DESCRIPTOR.strip_suffix('}').expect("an object").to_owned() + &schedules));
    bench.drop_in("timer.wasm", &wat::parse_str(text).expect("it is well formed"));
    let reason = "schedules: there are some, and the plugin exports no timer";
    bench.until("timer", |status| last_load(status).contains(reason)).await;
    bench.stop().await;
}
