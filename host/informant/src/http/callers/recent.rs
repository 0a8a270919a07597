//! Recent answers of the API server about callers: a bounded synchronous cache. The time is an argument.

use informant_runtime::AccessAnswer;
use k8s_openapi::api::authentication::v1::UserInfo;
use lru::LruCache;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an answer counts, a refusal too. A revoked token or role goes on for no longer. The defaults of
/// k8s.io/apiserver (`pkg/server/options`: `NewDelegatingAuthenticationOptions`, `NewDelegatingAuthorizationOptions`)
/// are the same.
pub(super) const AGE_MAX: Duration = Duration::from_secs(10);

/// Answers at once. One more takes the place of the answer that was used longest ago.
const ANSWERS_MAX: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");

/// Bytes of all answers together. One more costs those that were used longest ago.
const BYTES_MAX: usize = 8 << 20;
/// Bytes of a text beside its own.
const TEXT_HEAD_BYTES: usize = size_of::<String>();

/// An answer that knows its size.
pub(super) trait CallerAnswer: Clone {
    /// The bytes beyond those of the value itself.
    fn bytes(&self) -> usize;
}

impl CallerAnswer for Option<Arc<UserInfo>> {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, |user| bytes_of(user))
    }
}

impl CallerAnswer for AccessAnswer {
    fn bytes(&self) -> usize {
        match self {
            Self::Allowed => 0,
            Self::Denied(reason) => reason.len(),
        }
    }
}

/// The bytes of a user's names, groups and extra values.
pub(super) fn bytes_of(user: &UserInfo) -> usize {
    let extra = user.extra.iter().flatten();
    let extra = extra.flat_map(|(key, values)| std::iter::once(key).chain(values));
    let names = user.username.iter().chain(&user.uid).chain(user.groups.iter().flatten());
    names.chain(extra).map(|text| TEXT_HEAD_BYTES + text.len()).sum()
}

/// The hash of a question: neither tokens nor names are kept.
pub(super) type QuestionHash = [u8; 32];

pub(super) struct RecentAnswers<T> {
    answers: LruCache<QuestionHash, (Instant, T)>,
    /// Of all answers.
    bytes: usize,
}

impl<T> Default for RecentAnswers<T> {
    fn default() -> Self {
        // A cache that is made with its bound allocates all of its room at once.
        let mut answers = LruCache::new(NonZeroUsize::MIN);
        answers.resize(ANSWERS_MAX);
        Self { answers, bytes: 0 }
    }
}

impl<T: CallerAnswer> RecentAnswers<T> {
    pub(super) fn get(&mut self, question: &QuestionHash, now: Instant) -> Option<T> {
        let (asked, answer) = self.answers.get(question)?;
        let is_recent = now.saturating_duration_since(*asked) < AGE_MAX;
        is_recent.then(|| answer.clone())
    }

    /// Whether there is an answer, however old it is.
    pub(super) fn knows(&self, question: &QuestionHash) -> bool {
        self.answers.contains(question)
    }

    /// Gives another cache the answer, which is as old there.
    pub(super) fn copy_to(&self, question: &QuestionHash, other: &mut Self) {
        if let Some((asked, answer)) = self.answers.peek(question) {
            other.insert(*question, answer.clone(), *asked);
        }
    }

    /// `asked` is when the question was sent: its answer may be as old.
    pub(super) fn insert(&mut self, question: QuestionHash, answer: T, asked: Instant) {
        self.bytes += answer.bytes();
        let replaced = self.answers.push(question, (asked, answer));
        self.bytes -= replaced.map_or(0, |(_, (_, answer))| answer.bytes());
        while self.bytes > BYTES_MAX
            && let Some((_, (_, answer))) = self.answers.pop_lru()
        {
            self.bytes -= answer.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl CallerAnswer for &'static str {
        fn bytes(&self) -> usize {
            self.len()
        }
    }

    impl CallerAnswer for usize {
        fn bytes(&self) -> usize {
            *self
        }
    }

    #[test]
    fn answers_of_many_bytes_cost_those_that_were_used_longest_ago() {
        let (mut recent, now) = (RecentAnswers::default(), Instant::now());
        let check = |recent: &mut RecentAnswers<usize>, expect: [bool; 3]| {
            let there = [1, 2, 3].map(|number| recent.knows(&hash(number)));
            assert_eq!(there, expect);
        };
        let half = BYTES_MAX / 2;
        recent.insert(hash(1), half, now);
        recent.insert(hash(2), half, now);
        check(&mut recent, [true, true, false]);
        // One in place of itself takes no more.
        recent.insert(hash(2), half, now);
        check(&mut recent, [true, true, false]);
        recent.insert(hash(3), 1, now);
        check(&mut recent, [false, true, true]);
        recent.insert(hash(1), BYTES_MAX + 1, now);
        check(&mut recent, [false, false, false]);
        assert_eq!(recent.bytes, 0);
    }

    #[test]
    fn users_count_with_all_their_texts() {
        let text = || "x".repeat(10);
        let user = UserInfo {
            username: Some(text()),
            uid: Some(text()),
            groups: Some(vec![text(), text()]),
            extra: Some([(text(), vec![text()])].into()),
        };
        assert_eq!(bytes_of(&user), 6 * (10 + TEXT_HEAD_BYTES));
    }

    fn hash(number: usize) -> QuestionHash {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&number.to_le_bytes());
        hash
    }

    #[test]
    fn an_answer_counts_for_ten_seconds_from_its_question() {
        let (mut recent, asked) = (RecentAnswers::default(), Instant::now());
        recent.insert(hash(1), "yes", asked);
        let check = |recent: &mut RecentAnswers<&'static str>, number, after: u64, expect| {
            let now = asked + Duration::from_millis(after);
            assert_eq!(recent.get(&hash(number), now), expect, "{number} after {after} ms");
        };
        check(&mut recent, 1, 9_999, Some("yes"));
        check(&mut recent, 1, 10_000, None);
        check(&mut recent, 2, 0, None);
        recent.insert(hash(1), "no", asked + Duration::from_secs(5));
        check(&mut recent, 1, 14_999, Some("no"));
    }

    #[test]
    fn an_answer_that_is_copied_is_as_old_as_before() {
        let (mut recent, asked) = (RecentAnswers::default(), Instant::now());
        recent.insert(hash(1), "yes", asked);
        let mut other = RecentAnswers::default();
        recent.copy_to(&hash(1), &mut other);
        recent.copy_to(&hash(2), &mut other);
        let at = |seconds| asked + Duration::from_secs(seconds);
        assert_eq!(other.get(&hash(1), at(9)), Some("yes"));
        assert_eq!(other.get(&hash(1), at(10)), None);
        assert!(!other.knows(&hash(2)));
    }

    #[test]
    fn more_answers_than_there_may_be_cost_those_that_were_used_longest_ago() {
        let (mut recent, now) = (RecentAnswers::default(), Instant::now());
        let max = ANSWERS_MAX.get();
        for number in 0..max {
            recent.insert(hash(number), "yes", now);
        }
        assert_eq!(recent.get(&hash(0), now), Some("yes"));
        recent.insert(hash(max), "yes", now);
        let there = [0, 1, max].map(|number| recent.get(&hash(number), now).is_some());
        assert_eq!((there, recent.answers.len()), ([true, false, true], max));
    }
}
