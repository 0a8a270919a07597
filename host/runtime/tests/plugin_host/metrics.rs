//! Guests that count for themselves.

use super::{Bench, HELLO, handled, is, pod, swap};
use informant_runtime::{MetricValue, PluginStatus};
use std::fs;

/// `hello` that sets the gauge of this name to 1.5, and fails for good with the host's words if it may not.
fn gauge(name: &str) -> Vec<u8> {
    let memory = r#"(memory (export "memory") 1)"#;
    let more = format!(
        r#"(import "informant:plugin/metrics@0.1.0" "gauge-set"
          (func $gauge_set (param i32 i32 i32 i32 f64 i32)))
        {memory}
        (data (i32.const 480) "{name}")"#
    );
    let length = name.len();
    let set = format!(
        "(call $gauge_set (i32.const 480) (i32.const {length}) (i32.const 0) (i32.const 0)
          (f64.const 1.5) (i32.const 400))
        (if (i32.load8_u (i32.const 400)) (then
          (i32.store8 (i32.const 320) (i32.const 1))
          (i32.store (i32.const 328) (i32.load (i32.const 404)))
          (i32.store (i32.const 332) (i32.load (i32.const 408)))
          (i32.store8 (i32.const 336) (i32.const 2))
          (return (i32.const 320))))"
    );
    let begin = "(local $line i32) (local $end i32)\n";
    let text = swap(&swap(HELLO, memory, &more), begin, &format!("{begin}{set}\n"));
    wat::parse_str(text).expect("it is well formed")
}

impl Bench {
    /// The metrics of all plugins.
    fn metrics(&self) -> Vec<String> {
        let mut shown = Vec::new();
        for series in self.plugins.series() {
            let mut next = series.name_after(None);
            while let Some((name, kind)) = next {
                let values = series.series_after(&name, kind, None);
                let values = values.iter().map(|(_, value)| match value {
                    MetricValue::Gauge(value) => value.to_string(),
                    other => format!("{other:?}"),
                });
                let values = values.collect::<Vec<_>>().join(" ");
                shown.push(format!("{} {name} {values}", series.plugin()));
                next = series.name_after(Some(&*name));
            }
        }
        shown
    }
}

#[tokio::test]
async fn what_a_plugin_counts_outlives_its_versions_and_goes_with_it() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &gauge("load"));
    bench.until("hello", |status| handled(status) == 1).await;
    assert_eq!(bench.metrics(), ["hello load 1.5"]);
    bench.drop_in("hello.wasm", &super::hello());
    let reloaded = |status: Option<&PluginStatus>| {
        status.is_some_and(|status| status.to_json()["counters"]["reloads"] == 1)
    };
    bench.until("hello", |status| reloaded(status) && is(status, "running")).await;
    assert_eq!(bench.metrics(), ["hello load 1.5"]);
    fs::remove_file(bench.directory().join("hello.wasm")).expect("the file was there");
    bench.until("hello", |status| status.is_none()).await;
    assert_eq!(bench.metrics(), [""; 0]);
    bench.stop().await;
}

#[tokio::test]
async fn a_name_of_the_hosts_is_refused() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &gauge("informant_load"));
    let text =
        "the plugin answered: informant_load: names that begin with informant_ are the host's";
    let told = |status: Option<&PluginStatus>| {
        status.is_some_and(|status| status.to_json()["lastError"]["message"] == text)
    };
    bench.until("hello", told).await;
    assert_eq!(bench.metrics(), [""; 0]);
    bench.stop().await;
}
