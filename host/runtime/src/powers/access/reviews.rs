//! The times of reviews, and the effect of their answers. Synchronous; the time is a parameter.
//!
//! A new question is reviewed at once, and again periodically: by default every five minutes. A read without any
//! answer is not allowed. A failed review is tried again soon. Meanwhile an allowed read stays so for five minutes
//! from the due time. Then it is denied, until a review allows it.

use crate::outside::access_reviewer::AccessAnswer;
use crate::outside::service_account::ServiceAccount;
use crate::token_bucket::TokenBucket;
use informant_apimachinery::GroupVersionResource;
use informant_cache::workqueue::exponential;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// How long an allowed read stays allowed after a due review that fails. Longer than the most possible reviews take.
pub(super) const GRACE: Duration = Duration::from_secs(5 * 60);
/// The wait after a failed review. It doubles from `RETRY_MIN` to `RETRY_MAX`.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(30);
/// The most reviews under way, so that a slow API server gets no more.
pub(super) const AT_ONCE: usize = 4;
/// The reviews begun in a second; each is up to two requests. With the most questions, each is reviewed again within
/// 200 s.
const PER_SECOND: f64 = 5.0;
/// The reviews begun at once after a pause: those of a few starting plugins.
const BURST: f64 = 50.0;
/// The most questions that are reviewed periodically, of all plugins. Each has a few hundred bytes.
pub(crate) const ASKS_MAX: usize = 1_000;

/// A question: may this account read this resource?
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AccessQuestion {
    pub(super) account: ServiceAccount,
    pub(super) resource: GroupVersionResource,
    /// `None`: in all namespaces, and objects without one.
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

/// The reason for which a resource may not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadRefusal {
    /// The answer is not known yet.
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

/// The end of a review; an error has the reason why there is no answer.
pub(super) type ReviewResult = Result<AccessAnswer, String>;

/// Whether a resource may be read, as far as known.
pub(super) type AccessVerdict = Result<(), ReadRefusal>;

/// The verdict before the first review has ended.
pub(super) fn unknown() -> AccessVerdict {
    let text = "whether the service account may read it is being asked";
    Err(ReadRefusal::Unknown(text.to_owned()))
}

#[derive(Debug)]
pub(super) struct Reviews {
    /// How long an answer is valid without another review.
    every: Duration,
    asks: BTreeMap<AccessQuestion, ReviewEntry>,
    pace: TokenBucket,
}

#[derive(Debug)]
struct ReviewEntry {
    verdict: AccessVerdict,
    /// The end of the permission.
    ends: Option<Instant>,
    /// The time of the next review.
    due: Instant,
    /// The start of the current review.
    begun: Option<Instant>,
    /// Failed reviews in a row, and the last error.
    failures: u32,
    failure: String,
}

impl Reviews {
    pub(super) fn new(every: Duration, now: Instant) -> Self {
        Self { every, asks: BTreeMap::new(), pace: TokenBucket::new(PER_SECOND, BURST, now) }
    }

    /// Adds a question. `false`: there is no room.
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

    /// Removes a question.
    pub(super) fn forget(&mut self, ask: &AccessQuestion) {
        self.asks.remove(ask);
    }

    pub(super) fn verdict(&self, ask: &AccessQuestion) -> &AccessVerdict {
        const NOBODY: &AccessVerdict = &Err(ReadRefusal::Denied(String::new()));
        self.asks.get(ask).map_or(NOBODY, |entry| &entry.verdict)
    }

    /// The question to review now, the longest due first. It is under way until it is answered.
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

    /// Notes the end of a review.
    pub(super) fn answered(&mut self, ask: &AccessQuestion, answered: ReviewResult, now: Instant) {
        // A question that was removed and added again has no review under way, or another one: the answer is valid for
        // both.
        let every = self.every;
        let due = |begun: Instant| begun + every;
        let Some(entry) = self.asks.get_mut(ask) else { return };
        // The answer was true when the review began.
        let begun = entry.begun.take().unwrap_or(now);
        let (verdict, ends) = match answered {
            Ok(AccessAnswer::Allowed) => (Ok(()), Some(due(begun) + GRACE)),
            Ok(AccessAnswer::Denied(why)) => (Err(ReadRefusal::Denied(why)), None),
            Err(why) => return entry.failed(why, now),
        };
        (entry.verdict, entry.ends, entry.failures) = (verdict, ends, 0);
        entry.due = due(begun);
    }

    /// Denies reads whose permission has ended.
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

    /// The time of the next step; `None` while only answers are awaited.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let ends = self.asks.values().filter_map(|entry| entry.ends);
        let waiting = self.asks.values().filter(|entry| entry.begun.is_none());
        let due = waiting.map(|entry| entry.due).min().filter(|_| self.under_way() < AT_ONCE);
        let token = now + self.pace.until(1.0);
        // A remainder from rounding is not worth another look.
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
