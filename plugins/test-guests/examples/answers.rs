//! Answers orders: a ConfigMap labelled `election=order` whose `data.number` changes gets an annotation that says who answered, which of its
//! writes this was, and the number, several times in one call, so that most of what befalls its host befalls it between two writes. Who it is stands in
//! its configuration. It has no sin: whether its host let it write when it should not have
//! is what its annotations show.

use informant_plugin::kube::{self, Patch};
use informant_plugin::prelude::*;
use serde_json::{Value, json};

/// Writes of one call.
const WRITES: usize = 6;

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    host: String,
}

/// The plugin.
pub struct Answers {
    host: String,
    written: u64,
}

impl Plugin for Answers {
    fn describe(_: &Config) -> Result<Descriptor> {
        let orders = Subscription::to("v1/configmaps")
            .labels("election=order")
            .only([Change::Added, Change::Updated])
            .only_if_changed("/data/number");
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(orders))
    }

    fn start(config: &Config) -> Result<Self> {
        let Options { host } = config.parse()?;
        Ok(Self { host, written: 0 })
    }

    fn handle(&mut self, event: Event) -> Result {
        let order: Value = event.object()?;
        let number = order["data"]["number"].as_str().unwrap_or_default();
        for _ in 0..WRITES {
            self.written += 1;
            // Without the order's resourceVersion: nothing but the host keeps a late answer back.
            let answer = format!("{} {} {number}", self.host, self.written);
            let patch = json!({"metadata": {"annotations": {"informant.dev/answer": answer}}});
            let written = kube::patch("v1/configmaps", event.key(), &Patch::merge(patch));
            written.map_err(kube::Error::into_failure)?;
        }
        Ok(())
    }
}

export_plugin!(Answers);
