//! How long replacements took, from the host's own times: until the new code served, and how long nobody was served meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::storm::told::{CallEnd, LogEntry, LogKind};

/// One time for each version that took over and was called.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// From the complete file to the new version's first event, shortest first.
    pub serving: Vec<Duration>,
    /// From the old version's last event to the new one's first, or from there to its second (the old one's end comes between them),
    /// shortest first. Where the old one's instance had just ended, its wait is not the swap's, and the swap is left out.
    pub gaps: Vec<Duration>,
    /// Where nobody was told anything for long, whether a swap was near or not: since when the first event came, and for how long. Without
    /// the waits of instances that had ended.
    pub silences: Vec<(Duration, Duration)>,
}

/// What is long while thousands of events come in a second.
const SILENCE_MIN: Duration = Duration::from_millis(30);

/// Finds the swaps in what was told. `complete` has the time at which each version's file was whole.
pub fn times(told: &[LogEntry], complete: &BTreeMap<u32, Timestamp>) -> Times {
    let mut times = Times::default();
    let mut events = told.iter().filter_map(|entry| match &entry.what {
        LogKind::Event(event) => Some((entry.at, event)),
        LogKind::InCharge(_) | LogKind::NotLoaded | LogKind::Other => None,
    });
    let Some((mut at, mut event)) = events.next() else { return times };
    let (began, mut waited) = (at, None);
    for (next_at, next) in events {
        let gap = between(at, next_at);
        if gap >= SILENCE_MIN && event.end != CallEnd::Traps {
            times.silences.push((between(began, at), gap));
        }
        if let Some(first) = waited.take() {
            // A first event that ends the instance says nothing about the swap either.
            times.gaps.extend((event.end != CallEnd::Traps).then_some(gap.max(first)));
        }
        if next.by != event.by {
            times.serving.extend(complete.get(&next.by).map(|&whole| between(whole, next_at)));
            waited = (event.end != CallEnd::Traps).then_some(gap);
        }
        (at, event) = (next_at, next);
    }
    times.serving.sort_unstable();
    times.gaps.sort_unstable();
    times
}

fn between(begin: Timestamp, end: Timestamp) -> Duration {
    Duration::try_from(end.duration_since(begin)).unwrap_or_default()
}
