//! Counts the pending pods, every minute.

use informant_plugin::prelude::*;
use informant_plugin::{Every, Read, Schedule, Timer};
use serde::Deserialize;
use std::time::Duration;

const PODS: &str = "v1/pods";

/// The fields of a Pod that this plugin reads.
#[derive(Deserialize)]
struct Pod {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: String,
}

struct Counter;

impl Plugin for Counter {
    fn describe(_: &Config) -> Result<Descriptor> {
        let minute = Schedule::new("minute", Every::Period(Duration::from_secs(60)));
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION"))
            .read(Read::of(PODS))
            .schedule(minute))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }
}

impl Timer for Counter {
    fn fire(&mut self, _schedule: &str, _unix_ms: u64) -> Result {
        let mut pending = 0;
        for pod in indexer::list::<Pod>(PODS) {
            pending += u32::from(pod?.status.phase == "Pending");
        }
        info!("{pending} pods are pending");
        Ok(())
    }
}

export_plugin!(Counter, timer);

#[cfg(test)]
mod tests {
    use super::*;
    use informant_plugin::testing::Host;
    use serde_json::json;

    #[test]
    fn pending_pods_are_counted() {
        let host = Host::new();
        let mut plugin = host.start::<Counter>(json!({})).expect("it starts");
        for (name, phase) in [("a", "Pending"), ("b", "Running"), ("c", "Pending")] {
            let metadata = json!({"namespace": "shop", "name": name});
            host.put(
                PODS,
                json!({"metadata": metadata, "status": {"phase": phase}}),
            );
        }
        plugin.fire("minute", 0).expect("it counts");
        assert_eq!(host.messages(), ["2 pods are pending"]);
    }
}
