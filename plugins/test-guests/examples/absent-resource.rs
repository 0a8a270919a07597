//! Subscribes to `late.example.com/v1/widgets`, which nobody serves until somebody defines it.
//!
//! The host must run it all the same, show in `/plugins` what it waits for, and tell it of the objects as soon as the
//! resource is defined, of their end when the definition goes, and again when it comes back.

use informant_plugin::prelude::*;

/// The plugin.
pub struct AbsentResource;

impl Plugin for AbsentResource {
    fn describe(_: &Config) -> Result<Descriptor> {
        let widgets = Subscription::to("late.example.com/v1/widgets");
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(widgets))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        test_guests::behave(&event);
        Ok(())
    }
}

export_plugin!(AbsentResource);
