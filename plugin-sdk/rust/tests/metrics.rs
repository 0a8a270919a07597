//! A plugin's metrics, through the SDK's own functions.

use informant_plugin::metrics;
use informant_plugin::prelude::*;
use informant_plugin::testing::{Host, added, deleted};
use serde_json::json;

struct Counts;

impl Plugin for Counts {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(Descriptor::new("1").subscribe(Subscription::to("v1/pods")))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        let change = event.change().to_string();
        metrics::counter_add("events_total", &[("change", &change)], 1.0)?;
        metrics::gauge_set("last", &[], event.seq() as f64)?;
        metrics::histogram_observe("size", &[("b", "2"), ("a", "1")], 0.5)?;
        metrics::counter_add("events", &[], -1.0)
    }
}

#[test]
fn what_a_plugin_counts_can_be_looked_at() {
    let host = Host::new();
    let mut plugin = host.start::<Counts>(json!({})).expect("it starts");
    let pod = json!({"metadata": {"namespace": "default", "name": "web"}});
    for event in [added(pod.clone()), deleted(pod)] {
        let failure = plugin.handle(event).expect_err("a counter does not fall");
        assert_eq!(failure.message(), "a counter only rises, and this is -1");
    }
    assert_eq!(host.metric("events", &[("change", "added")]), Some(1.0));
    assert_eq!(host.metric("last", &[]), Some(2.0));
    assert_eq!(host.metric("size", &[("a", "1"), ("b", "2")]), Some(1.0));
    assert_eq!(host.metric("events", &[]), None);
}
