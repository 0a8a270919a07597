//! The lists and watches of one version, a part of its plugin's account. An informer takes memory also while it only
//! waits for a resource that the cluster does not serve.

use super::ledger::{Ledger, Weighed};
use std::sync::{Arc, Weak};

/// The host's memory for one list and watch without objects. Measured by resident memory: 17 KB for an informer with
/// its two tasks and the plugin's subscription, 5 KB for each further namespace of the same informer.
pub(crate) const WATCH_BYTES: u64 = 16 << 10;

/// A version's lists and watches, charged while this lives.
pub(crate) struct Watches(usize);

impl Watches {
    pub(crate) fn charged(count: usize, payer: &Ledger) -> Arc<Self> {
        let watches = Arc::new(Self(count));
        let weighed: Weak<Self> = Arc::downgrade(&watches);
        payer.weighs(weighed);
        watches
    }
}

impl Weighed for Watches {
    fn part(&self) -> &'static str {
        "watches"
    }

    fn bytes(&self) -> u64 {
        self.0 as u64 * WATCH_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Account;
    use std::time::Duration;

    #[test]
    fn lists_and_watches_are_charged_to_their_plugin_while_its_version_lives() {
        let [one, other] = [0; 2].map(|_| Ledger::default());
        let charged = |ledger: &Ledger| ledger.weighed_bytes("watches") / WATCH_BYTES;
        let version = Watches::charged(512, &one);
        let next = Watches::charged(3, &one);
        let others = Watches::charged(512, &other);
        assert_eq!((charged(&one), charged(&other)), (515, 512));
        drop(version);
        assert_eq!((charged(&one), charged(&other)), (3, 512));
        drop((next, others));
        assert_eq!((charged(&one), charged(&other)), (0, 0));
    }

    #[test]
    fn a_plugin_waits_for_no_more_than_its_memory_allows() {
        let ledger = Ledger::default();
        let _watches = Watches::charged(512, &ledger);
        let account = |most| Account {
            memory: vec![("watches", ledger.weighed_bytes("watches"))],
            memory_max: Some(most),
            time: Vec::new(),
            log_bytes: 0,
            processor: Duration::ZERO,
            disk_bytes: 0,
        };
        assert!(account(512 * WATCH_BYTES).overdraft().is_none());
        let text = account(512 * WATCH_BYTES - 1).overdraft().map(|it| it.to_string());
        assert!(text.is_some_and(|text| text.contains(": watches ")));
    }
}
