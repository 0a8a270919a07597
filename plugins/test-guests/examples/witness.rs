//! No sin at all: holds each event against those before it, says `told <resourceVersion>` of it, and traps if one object's events come
//! out of order, twice, or not at all. Says `synced` once what was there is through, and traps if that comes twice, or something after it.
//!
//! The host must keep it as it was promised, whatever its neighbours do.

use std::collections::HashMap;

use informant_plugin::SyncAware;
use informant_plugin::prelude::*;

/// The plugin.
pub struct Witness {
    /// The newest version of each object that is there, by UID.
    known: HashMap<String, u64>,
    is_synced: bool,
}

impl Plugin for Witness {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(test_guests::pods())
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self { known: HashMap::new(), is_synced: false })
    }

    fn handle(&mut self, event: Event) -> Result {
        let version: u64 = event.resource_version().parse().map_err(Failure::new)?;
        let before = match event.change() {
            Change::Deleted => self.known.remove(event.uid()),
            Change::Added | Change::Updated => self.known.insert(event.uid().to_owned(), version),
        };
        let key = event.key();
        let is_late = self.is_synced && event.reason() == Reason::Initial;
        assert!(!is_late, "{key} was there before, and comes after that was through");
        match event.change() {
            Change::Added => assert_eq!(before, None, "{key} was added twice"),
            _ => assert!(before < Some(version), "{key}: {before:?} and then {version}"),
        }
        let is_known = before.is_some() || event.change() == Change::Added;
        assert!(is_known, "{key} was never added");
        info!("told {version}");
        Ok(())
    }
}

impl SyncAware for Witness {
    fn synced(&mut self, subscription: u32) -> Result {
        assert_eq!((subscription, self.is_synced), (0, false), "it is told once of each");
        self.is_synced = true;
        info!("synced");
        Ok(())
    }
}

export_plugin!(Witness, sync_aware);
