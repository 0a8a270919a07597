//! Greets every pod. `config` in hello.yaml has the greeting.

use informant_plugin::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Hello {
    greeting: String,
}

impl Plugin for Hello {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(Descriptor::new("0.1.0").subscribe(Subscription::to("v1/pods")))
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
