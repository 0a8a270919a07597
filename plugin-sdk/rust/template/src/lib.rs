//! Greets every pod.

use informant_plugin::prelude::*;
use serde::Deserialize;

/// The keys of `config`.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Hello {
    greeting: String,
}

impl Default for Hello {
    fn default() -> Self {
        Self {
            greeting: "hello".to_owned(),
        }
    }
}

impl Plugin for Hello {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(Subscription::to("v1/pods")))
    }

    fn start(config: &Config) -> Result<Self> {
        config.parse()
    }

    fn handle(&mut self, event: Event) -> Result {
        info!("{}: {} pod {}", self.greeting, event.change(), event.key());
        Ok(())
    }
}

export_plugin!(Hello);

#[cfg(test)]
mod tests {
    use super::*;
    use informant_plugin::testing::{Host, added, deleted};
    use serde_json::json;

    #[test]
    fn every_pod_is_greeted() {
        let host = Host::new();
        let mut plugin = host
            .start::<Hello>(json!({"greeting": "good morning"}))
            .expect("it starts");
        let pod = || json!({"metadata": {"namespace": "default", "name": "web"}});
        plugin.handle(added(pod())).expect("it is handled");
        plugin.handle(deleted(pod())).expect("it is handled");
        let expect = [
            "good morning: added pod default/web",
            "good morning: deleted pod default/web",
        ];
        assert_eq!(host.messages(), expect);
    }
}
