//! Keeps 4 MiB with every event and never gives anything back.
//!
//! The host must show its memory growing, end the instance at the limit with that as the cause, and go on with a new one: no event
//! is lost by it, and no other plugin has less.

use informant_plugin::prelude::*;

/// What it keeps with each event.
const KEPT_BYTES: usize = 4 << 20;

/// The plugin.
pub struct GrowsSlowly {
    kept: Vec<Vec<u8>>,
}

impl Plugin for GrowsSlowly {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(test_guests::pods())
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self { kept: Vec::new() })
    }

    fn handle(&mut self, event: Event) -> Result {
        self.kept.push(std::hint::black_box(vec![0xA5_u8; KEPT_BYTES]));
        test_guests::behave(&event);
        Ok(())
    }
}

export_plugin!(GrowsSlowly);
