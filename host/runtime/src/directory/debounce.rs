//! When to look after something happened: a synchronous cupboard.

use std::time::{Duration, Instant};

/// After a rename or the close of a written file: the file is most likely complete.
const QUIET_COMPLETE: Duration = Duration::from_millis(50);
/// After anything else: a write may be under way.
const QUIET_WRITING: Duration = Duration::from_millis(250);
/// However busy the directory is.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Collects hints until it has been quiet for long enough.
#[derive(Debug, Default)]
pub(crate) struct Debounce {
    dirty: Option<Dirty>,
}

#[derive(Debug, Clone, Copy)]
struct Dirty {
    since: Instant,
    quiet_until: Instant,
}

impl Debounce {
    /// Something happened; `complete` says that it was the end of a change.
    pub(crate) fn hint(&mut self, complete: bool, now: Instant) {
        let quiet = if complete { QUIET_COMPLETE } else { QUIET_WRITING };
        let since = self.dirty.map_or(now, |dirty| dirty.since);
        self.dirty = Some(Dirty { since, quiet_until: now + quiet });
    }

    /// When to look, if anything happened.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.dirty.map(|dirty| dirty.quiet_until.min(dirty.since + WAIT_MAX))
    }

    /// Somebody looks now.
    pub(crate) fn clear(&mut self) {
        self.dirty = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(hints: &[(u64, bool)], due: Option<u64>) {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        for (ms, complete) in hints {
            debounce.hint(*complete, start + Duration::from_millis(*ms));
        }
        let due_ms = debounce.due().map(|due| (due - start).as_millis() as u64);
        assert_eq!(due_ms, due, "{hints:?}");
    }

    #[test]
    fn it_waits_for_quiet_but_not_for_ever() {
        check(&[], None);
        check(&[(0, true)], Some(50));
        check(&[(0, false)], Some(250));
        check(&[(0, false), (100, false), (200, true)], Some(250));
        check(&[(0, true), (10, false)], Some(260));
        let busy: Vec<(u64, bool)> = (0..30).map(|n| (n * 100, false)).collect();
        check(&busy, Some(2_000));
    }
}
