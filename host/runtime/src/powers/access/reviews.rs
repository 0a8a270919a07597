//! When what is reviewed, and what the answers mean. A synchronous cupboard that is given the time.
//!
//! Everything is reviewed at once when somebody asks for it, and again every so often: five minutes, where nobody says otherwise. What was never
//! answered is not allowed. A review that cannot be made is tried again soon, and what was allowed stays so for five minutes from when it was due:
//! then it is denied, until somebody says that it is allowed.

use crate::outside::access_reviewer::AccessAnswer;
use crate::outside::service_account::ServiceAccount;
use crate::token_bucket::TokenBucket;
use informant_apimachinery::GroupVersionResource;
use informant_cache::workqueue::exponential;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// How much longer than until its next review something is allowed, if that cannot be made. Longer than all reviews take that there may be.
pub(super) const GRACE: Duration = Duration::from_secs(5 * 60);
/// What could not be reviewed is tried again after the first, then after twice as long, up to the second.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(30);
/// Under way at once: an API server that is slow is not asked more for it.
pub(super) const AT_ONCE: usize = 4;
/// Begun in a second; each is up to two requests. With all that can be asked for, every one comes again within 200 s.
const PER_SECOND: f64 = 5.0;
/// Begun at once after a pause: what a few plugins ask for when they start.
const BURST: f64 = 50.0;
/// Reviewed again and again, of all plugins. A few hundred bytes each.
pub(crate) const ASKS_MAX: usize = 1_000;

/// Something that somebody may read, or may not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AccessQuestion {
    pub(super) account: ServiceAccount,
    pub(super) resource: GroupVersionResource,
    /// None: in all, and what is in none.
    pub(super) namespace: Option<String>,
}

impl fmt::Display for AccessQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { account, resource, namespace } = self;
        match namespace {
            Some(namespace) => write!(f, "{resource} in {namespace}")?,
            None => write!(f, "{resource} in all namespaces")?,
        }
        write!(f, " by the service account {account}")
    }
}

/// Why something may not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadRefusal {
    /// Nobody knows yet whether it may.
    Unknown(String),
    Denied(String),
}

impl ReadRefusal {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Unknown(text) | Self::Denied(text) => text,
        }
    }
}

/// How a review ended; an error is why it could not be made.
pub(super) type ReviewResult = Result<AccessAnswer, String>;

/// Whether something may be read, as far as anybody knows.
pub(super) type AccessVerdict = Result<(), ReadRefusal>;

/// As long as no review has ended.
pub(super) fn unknown() -> AccessVerdict {
    let text = "whether the service account may read it is being asked";
    Err(ReadRefusal::Unknown(text.to_owned()))
}

#[derive(Debug)]
pub(super) struct Reviews {
    /// How long an answer goes unquestioned.
    every: Duration,
    asks: BTreeMap<AccessQuestion, ReviewEntry>,
    pace: TokenBucket,
}

#[derive(Debug)]
struct ReviewEntry {
    verdict: AccessVerdict,
    /// When it is allowed no longer.
    ends: Option<Instant>,
    /// When it is to be reviewed.
    due: Instant,
    /// When the review under way has begun.
    begun: Option<Instant>,
    /// Reviews in a row that could not be made, and why the last could not.
    failures: u32,
    failure: String,
}

impl Reviews {
    pub(super) fn new(every: Duration, now: Instant) -> Self {
        Self { every, asks: BTreeMap::new(), pace: TokenBucket::new(PER_SECOND, BURST, now) }
    }

    /// Somebody wants to know it from here on. False: there is no room.
    pub(super) fn ask(&mut self, ask: AccessQuestion, now: Instant) -> bool {
        if self.asks.contains_key(&ask) {
            return true;
        }
        if self.asks.len() >= ASKS_MAX {
            return false;
        }
        let (verdict, failure) = (unknown(), String::new());
        let entry =
            ReviewEntry { verdict, ends: None, due: now, begun: None, failures: 0, failure };
        self.asks.insert(ask, entry);
        true
    }

    /// Nobody wants to know it any more.
    pub(super) fn forget(&mut self, ask: &AccessQuestion) {
        self.asks.remove(ask);
    }

    pub(super) fn verdict(&self, ask: &AccessQuestion) -> &AccessVerdict {
        const NOBODY: &AccessVerdict = &Err(ReadRefusal::Denied(String::new()));
        self.asks.get(ask).map_or(NOBODY, |entry| &entry.verdict)
    }

    /// What is to be reviewed now, what has been due for the longest first. It is under way until it is answered.
    pub(super) fn begin(&mut self, now: Instant) -> Option<AccessQuestion> {
        self.pace.refill(now);
        if self.under_way() >= AT_ONCE || self.pace.tokens() < 1.0 {
            return None;
        }
        let waiting = self.asks.iter_mut().filter(|(_, entry)| entry.begun.is_none());
        let (ask, entry) = waiting.min_by_key(|(_, entry)| entry.due)?;
        if entry.due > now {
            return None;
        }
        entry.begun = Some(now);
        self.pace.spend(1.0);
        Some(ask.clone())
    }

    /// What became of one that was begun.
    pub(super) fn answered(&mut self, ask: &AccessQuestion, answered: ReviewResult, now: Instant) {
        // One that was forgotten and asked for anew meanwhile has no review under way, or another one: either is answered well.
        let every = self.every;
        let due = |begun: Instant| begun + every;
        let Some(entry) = self.asks.get_mut(ask) else { return };
        // What an answer says was so when it was asked for.
        let begun = entry.begun.take().unwrap_or(now);
        let (verdict, ends) = match answered {
            Ok(AccessAnswer::Allowed) => (Ok(()), Some(due(begun) + GRACE)),
            Ok(AccessAnswer::Denied(why)) => (Err(ReadRefusal::Denied(why)), None),
            Err(why) => return entry.failed(why, now),
        };
        (entry.verdict, entry.ends, entry.failures) = (verdict, ends, 0);
        entry.due = due(begun);
    }

    /// What was allowed too long ago is denied.
    pub(super) fn lapse(&mut self, now: Instant) {
        for (ask, entry) in &mut self.asks {
            if entry.ends.is_some_and(|ends| ends <= now) {
                entry.ends = None;
                let (seconds, failure) = (GRACE.as_secs(), &entry.failure);
                let why = format!("{ask} could not be reviewed for {seconds} s: {failure}");
                entry.verdict = Err(ReadRefusal::Denied(why));
            }
        }
    }

    /// When there is something to do next; none while only answers are waited for.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let ends = self.asks.values().filter_map(|entry| entry.ends);
        let waiting = self.asks.values().filter(|entry| entry.begun.is_none());
        let due = waiting.map(|entry| entry.due).min().filter(|_| self.under_way() < AT_ONCE);
        let token = now + self.pace.until(1.0);
        // What rounding leaves is not worth a look of its own.
        let due = due.map(|due| due.max(token + Duration::from_millis(1)));
        ends.chain(due).min()
    }

    fn under_way(&self) -> usize {
        self.asks.values().filter(|entry| entry.begun.is_some()).count()
    }
}

impl ReviewEntry {
    fn failed(&mut self, why: String, now: Instant) {
        self.due = now + exponential(RETRY_MIN, self.failures, RETRY_MAX);
        self.failures += 1;
        if let Err(ReadRefusal::Unknown(text)) = &mut self.verdict {
            *text = format!("whether the service account may read it could not be asked: {why}");
        }
        self.failure = why;
    }
}

#[cfg(test)]
mod tests;
