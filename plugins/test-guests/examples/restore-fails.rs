//! Hands something to the next version, and refuses what the version before it hands over.
//!
//! The host must keep the version that runs, and show the message as the reason.

use informant_plugin::Stateful;
use informant_plugin::prelude::*;

/// The plugin.
pub struct RestoreFails;

impl Plugin for RestoreFails {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(test_guests::pods())
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        test_guests::behave(&event);
        Ok(())
    }
}

impl Stateful for RestoreFails {
    fn snapshot(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(Some(b"what I know".to_vec()))
    }

    fn restore(&mut self, from_version: &str, data: Vec<u8>) -> Result {
        let data = String::from_utf8_lossy(&data).into_owned();
        Err(format!("asked to refuse {data:?} of version {from_version}"))?
    }
}

export_plugin!(RestoreFails, stateful);
