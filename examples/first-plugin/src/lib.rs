//! A first plugin: says when a pod's container restarts.

use informant_plugin::prelude::*;
use serde::Deserialize;

/// The plugin; it remembers nothing.
pub struct FirstPlugin;

/// A pod, as far as this plugin looks at it.
#[derive(Deserialize)]
struct Pod {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerStatus {
    restart_count: u32,
}

impl Pod {
    fn restarts(&self) -> u32 {
        self.status.container_statuses.iter().map(|container| container.restart_count).sum()
    }
}

impl Plugin for FirstPlugin {
    fn describe(_: &Config) -> Result<Descriptor> {
        let pods = Subscription::to("v1/pods").only([Change::Updated]).with_old();
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(pods))
    }

    fn start(_: &Config) -> Result<Self> {
        info!("the first plugin is here");
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        let restarts = event.object::<Pod>()?.restarts();
        let before = event.old::<Pod>()?.map_or(0, |old| old.restarts());
        if restarts > before {
            warn!("pod {} has restarted {restarts} times", event.key());
        }
        Ok(())
    }
}

export_plugin!(FirstPlugin);

#[cfg(test)]
mod tests {
    use super::*;
    use informant_plugin::testing::{Host, updated};
    use serde_json::{Value, json};

    fn pod(restarts: u32) -> Value {
        json!({
            "metadata": {"namespace": "default", "name": "web-1"},
            "status": {"containerStatuses": [{"restartCount": restarts}]},
        })
    }

    #[track_caller]
    fn check(before: u32, after: u32, expected: &[&str]) {
        let host = Host::new();
        let mut plugin = host.start::<FirstPlugin>(json!({})).expect("the plugin starts");
        plugin.handle(updated(pod(before), pod(after))).expect("the event is handled");
        assert_eq!(host.messages()[1..], *expected);
    }

    #[test]
    fn only_a_restart_is_told() {
        check(0, 1, &["pod default/web-1 has restarted 1 times"]);
        check(3, 3, &[]);
    }
}
