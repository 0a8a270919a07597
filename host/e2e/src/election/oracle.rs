//! Whether only leaders wrote: every write beside who held the Lease at that moment, both in the API server's own order.
//!
//! What counts is when a write arrived, not when its host sent it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::election::history::{Lease, WatchedChange, WatchedKind, WriteAnswer};

/// More than these say nothing that the first do not.
const COMPLAINTS_MAX: usize = 20;

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ElectionVerdict {
    /// Writes that arrived.
    pub writes: usize,
    /// How often a host took the Lease.
    pub terms: usize,
    /// Hosts that wrote.
    pub writers: usize,
    /// From the last sign of a leader, which is when it last wrote the Lease, to its successor's first write, shortest first.
    pub takeovers: Vec<Duration>,
    /// What is wrong; empty where only leaders wrote.
    pub complaints: Vec<String>,
}

/// The Lease as it is.
#[derive(Clone)]
struct HeldLease {
    lease: Lease,
    version: u64,
}

#[derive(Default)]
struct ElectionOracle {
    verdict: ElectionVerdict,
    held: Option<HeldLease>,
    writers: BTreeSet<String>,
    /// Who held the Lease last, and its last sign.
    last_sign: Option<(String, Duration)>,
    /// The last sign of the one whose successor has not written yet.
    without_writes_since: Option<Duration>,
}

/// Holds every write against the Lease. Nobody's successor may take longer than `takeover_max`.
pub fn check(entries: &[WatchedChange], takeover_max: Duration) -> ElectionVerdict {
    let mut entries = entries.to_vec();
    entries.sort_by_key(|entry| entry.version);
    let mut oracle = ElectionOracle::default();
    for entry in &entries {
        match &entry.what {
            WatchedKind::Lease(lease) => oracle.lease(entry, lease),
            WatchedKind::Answer(answer) => oracle.answer(entry, answer),
        }
    }
    let ElectionOracle { mut verdict, writers, .. } = oracle;
    verdict.writers = writers.len();
    verdict.takeovers.sort_unstable();
    let late = verdict.takeovers.iter().filter(|takeover| **takeover > takeover_max);
    let late = late.map(|it| format!("nobody wrote for {it:.1?}, more than {takeover_max:.1?}"));
    let late: Vec<String> = late.take(COMPLAINTS_MAX).collect();
    verdict.complaints.extend(late);
    verdict
}

impl ElectionOracle {
    fn complain(&mut self, complaint: String) {
        if self.verdict.complaints.len() < COMPLAINTS_MAX {
            self.verdict.complaints.push(complaint);
        }
    }

    fn lease(&mut self, entry: &WatchedChange, lease: &Lease) {
        let (version, before) = (entry.version, self.held.take());
        if let Some(HeldLease { lease: before, .. }) = &before {
            let rises = lease.transitions > before.transitions;
            let takes = lease.holder.is_some() && lease.holder != before.holder;
            if takes && !rises || lease.transitions < before.transitions {
                self.complain(format!("at {version} the Lease went from {before:?} to {lease:?}"));
            }
        }
        let was_held_by = before.and_then(|before| before.lease.holder);
        match (&was_held_by, &lease.holder) {
            (Some(was), Some(is)) if was == is => self.last_sign = Some((is.clone(), entry.at)),
            (_, Some(is)) => {
                self.verdict.terms += 1;
                let left = self.last_sign.replace((is.clone(), entry.at));
                if let Some((_, at)) = left.filter(|(name, _)| name != is) {
                    self.without_writes_since.get_or_insert(at);
                }
            }
            (Some(was), None) => self.last_sign = Some((was.clone(), entry.at)),
            (None, None) => {}
        }
        self.held = Some(HeldLease { lease: lease.clone(), version });
    }

    fn answer(&mut self, entry: &WatchedChange, answer: &WriteAnswer) {
        self.verdict.writes += 1;
        self.writers.insert(answer.by.clone());
        let held = self.held.clone();
        let holder = held.as_ref().and_then(|held| held.lease.holder.as_deref());
        if holder != Some(answer.by.as_str()) {
            let since = held.as_ref().map_or(0, |held| held.version);
            let holder = holder.unwrap_or("nobody");
            let WriteAnswer { order, by, write, .. } = answer;
            let version = entry.version;
            return self.complain(format!(
                "write {write} of {by} arrived at {version} ({order}), and {holder} held the Lease since {since}"
            ));
        }
        if let Some(since) = self.without_writes_since.take() {
            self.verdict.takeovers.push(entry.at.saturating_sub(since));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// One entry a second: `a` holds the Lease, taken for the first time: `lease a 0`; `write a`; nobody holds it: `lease - 0`.
    fn entries(text: &str) -> Vec<WatchedChange> {
        let entry = |(number, line): (usize, &str)| {
            let words: Vec<&str> = line.trim().split(' ').collect();
            let what = match words[..] {
                ["lease", holder, transitions] => WatchedKind::Lease(Lease {
                    holder: (holder != "-").then(|| holder.to_owned()),
                    transitions: transitions.parse().expect("a number"),
                }),
                ["write", by] => WatchedKind::Answer(WriteAnswer {
                    order: "order".to_owned(),
                    by: by.to_owned(),
                    write: 7,
                    number: 1,
                }),
                _ => panic!("{line}"),
            };
            WatchedChange { version: 10 + number as u64, at: SECOND * number as u32, what }
        };
        text.split(',').enumerate().map(entry).collect()
    }

    /// What is complained of, and how many seconds takeovers lasted, of at most four.
    #[track_caller]
    fn check(text: &str, complaints: &[&str], takeovers: &[u64]) {
        let mut given = entries(text);
        let verdict = super::check(&given, SECOND * 4);
        assert_eq!(verdict.complaints, complaints, "{text}");
        let expect: Vec<Duration> = takeovers.iter().map(|n| Duration::from_secs(*n)).collect();
        assert_eq!(verdict.takeovers, expect, "{text}");
        given.reverse();
        assert_eq!(
            super::check(&given, SECOND * 4),
            verdict,
            "the order of the watches is nothing"
        );
    }

    #[test]
    fn whoever_holds_the_lease_may_write() {
        check("lease a 0, write a, lease a 0, write a", &[], &[]);
        check("lease a 0, write a, lease b 1, write b, lease a 2, write a", &[], &[3, 3]);
        check("lease a 0, write a, lease - 0, lease b 1, write b", &[], &[2]);
    }

    #[test]
    fn a_write_after_anothers_term_began_is_noticed() {
        let late = "write 7 of a arrived at 13 (order), and b held the Lease since 12";
        check("lease a 0, write a, lease b 1, write a", &[late], &[]);
        let late = "write 7 of a arrived at 14 (order), and b held the Lease since 12";
        check("lease a 0, write a, lease b 1, write b, write a", &[late], &[3]);
    }

    #[test]
    fn a_write_of_who_gave_the_lease_back_or_never_had_it_is_noticed() {
        let late = "write 7 of a arrived at 12 (order), and nobody held the Lease since 11";
        check("lease a 0, lease - 0, write a", &[late], &[]);
        let early = "write 7 of a arrived at 10 (order), and nobody held the Lease since 0";
        check("write a, lease a 0", &[early], &[]);
        let other = "write 7 of b arrived at 11 (order), and a held the Lease since 10";
        check("lease a 0, write b", &[other], &[]);
    }

    #[test]
    fn a_successor_that_takes_too_long_is_noticed() {
        let long = "nobody wrote for 5.0s, more than 4.0s";
        check("lease a 0, write a, write a, write a, lease b 1, write b", &[long], &[5]);
        // One that leads and does not write leaves it to the next.
        check("lease a 0, write a, lease b 1, lease b 1, lease c 2, write c", &[long], &[5]);
    }

    #[test]
    fn a_lease_that_is_taken_without_counting_is_noticed() {
        let text = r#"at 11 the Lease went from Lease { holder: Some("a"), transitions: 3 } to Lease { holder: Some("b"), transitions: 3 }"#;
        check("lease a 3, lease b 3", &[text], &[]);
    }

    #[test]
    fn complaints_are_bounded() {
        let writes = ", write b".repeat(COMPLAINTS_MAX + 5);
        let verdict = super::check(&entries(&format!("lease a 0{writes}")), SECOND);
        assert_eq!(
            (verdict.complaints.len(), verdict.writes),
            (COMPLAINTS_MAX, COMPLAINTS_MAX + 5)
        );
        assert_eq!((verdict.terms, verdict.writers), (1, 1));
    }
}
