//! Says each pod's phase.

use informant_plugin::prelude::*;
use serde::Deserialize;

struct Hello;

#[derive(Deserialize)]
struct Pod<'a> {
    #[serde(borrow)]
    status: Status<'a>,
}

#[derive(Deserialize)]
struct Status<'a> {
    phase: &'a str,
}

impl Plugin for Hello {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(Subscription::to("v1/pods")))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Hello)
    }

    fn handle(&mut self, event: Event) -> Result {
        let pod: Pod = event.object()?;
        info!("hello: pod {} is {}", event.key(), pod.status.phase);
        Ok(())
    }
}

export_plugin!(Hello);
