//! Subscribes to pods and does nothing with them: what is left is the host's own cost, which tests and
//! benchmarks want to see.

use informant_plugin::prelude::*;

/// The plugin; it remembers nothing.
pub struct Counter;

impl Plugin for Counter {
    fn describe(_: &Config) -> Result<Descriptor> {
        let pods = Subscription::to("v1/pods").with_old();
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(pods))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, _: Event) -> Result {
        Ok(())
    }
}

export_plugin!(Counter);
