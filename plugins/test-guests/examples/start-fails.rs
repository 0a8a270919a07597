//! Describes itself well and fails to start.
//!
//! The host must show the message as the reason why the plugin does not run; where an older version
//! runs, that one goes on.

use informant_plugin::prelude::*;

/// The plugin.
pub struct StartFails;

impl Plugin for StartFails {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(test_guests::pods())
    }

    fn start(_: &Config) -> Result<Self> {
        Err("asked to fail at start")?
    }

    fn handle(&mut self, event: Event) -> Result {
        error!("called with {} although start failed", event.key());
        Ok(())
    }
}

export_plugin!(StartFails);
