//! Bounds the refused writes of one Secret: a refusal can show whether a written value equals the present one, for
//! example with an immutable Secret. Synchronous.

use super::{Write, WriteVerb};
use crate::outside::cluster_writer::WriteError;
use crate::token_bucket::{TokenBucket, TokenBuckets, forget_full};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The most refused writes of one Secret by one plugin in a row. A controller whose update conflicts tries again some
/// times.
pub(super) const REFUSED_AT_ONCE: u32 = 10;
/// The time until one more write may be refused.
const REFUSED_EVERY: Duration = Duration::from_secs(60);
/// The most Secrets of one plugin with recently refused writes. Writes of further Secrets wait until one of these is
/// forgotten.
pub(super) const SECRETS_MAX: usize = 256;

/// Namespace and name.
type Key = (String, String);

/// The remaining refusals for each Secret and plugin, by the plugin's name: versions and files come and go. A Secret
/// with all refusals left has no entry.
#[derive(Default)]
pub(crate) struct SecretGuesses {
    plugins: BTreeMap<String, TokenBuckets<Key>>,
}

/// A write that may be refused.
pub(crate) struct Guess {
    plugin: String,
    key: Key,
}

impl Write {
    /// Whether a refusal could show a Secret's content. A creation or a deletion compares nothing but the name.
    fn may_guess(&self) -> bool {
        self.what.is_secrets() && matches!(self.verb(), WriteVerb::Update | WriteVerb::Patch)
    }
}

impl SecretGuesses {
    /// Counts the write as refused, until [`end`](Self::end) corrects that. `None` if a refusal would show nothing. An
    /// error is the time until the write may be made.
    pub(crate) fn begin(
        &mut self,
        plugin: &str,
        write: &Write,
        now: Instant,
    ) -> Result<Option<Guess>, Duration> {
        if !write.may_guess() {
            return Ok(None);
        }
        self.plugins.retain(|_, secrets| {
            forget_full(secrets, now);
            !secrets.is_empty()
        });
        let key = (write.namespace.clone(), write.name.clone());
        let secrets = self.plugins.entry(plugin.to_owned()).or_default();
        if secrets.len() >= SECRETS_MAX && !secrets.contains_key(&key) {
            return Err(REFUSED_EVERY);
        }
        let per_second = 1.0 / REFUSED_EVERY.as_secs_f64();
        let new = || TokenBucket::new(per_second, f64::from(REFUSED_AT_ONCE), now);
        let bucket = secrets.entry(key.clone()).or_insert_with(new);
        // Invariant 35.
        bucket.take(now)?;
        Ok(Some(Guess { plugin: plugin.to_owned(), key }))
    }

    /// Ends the write. A write that succeeded, or that was never compared with the Secret, does not count.
    pub(crate) fn end<T>(&mut self, guess: Option<Guess>, answer: Option<&Result<T, WriteError>>) {
        let told_nothing = match answer {
            None | Some(Ok(_) | Err(WriteError::NotLeader | WriteError::Unsent(_))) => true,
            Some(Err(WriteError::Status { code, .. })) => [401, 404, 429].contains(code),
            Some(Err(WriteError::Transport(_))) => false,
        };
        let Some(Guess { plugin, key }) = guess.filter(|_| told_nothing) else { return };
        let secrets = self.plugins.get_mut(&plugin);
        if let Some(bucket) = secrets.and_then(|secrets| secrets.get_mut(&key)) {
            bucket.spend(-1.0);
        }
    }
}

/// The error for a plugin that must wait.
pub(crate) fn too_many() -> String {
    format!(
        "nothing was sent: {REFUSED_AT_ONCE} writes of this Secret were refused lately, which could tell what is in it"
    )
}

#[cfg(test)]
mod tests {
    use super::super::{How, NamedObject};
    use super::*;

    fn write(name: &str, how: How) -> Write {
        let named =
            NamedObject { resource: "v1/secrets", namespace: "shop", name, subresource: "" };
        let body = match how {
            How::JsonPatch => "[]".to_owned(),
            _ => format!(r#"{{"metadata":{{"name":"{name}"}}}}"#),
        };
        Write::new(named, how, body.into_bytes()).expect("it is well formed")
    }

    fn refused(code: u16) -> Result<(), WriteError> {
        let (reason, message) = (String::new(), String::new());
        Err(WriteError::Status { code, reason, message, retry_after: None })
    }

    /// The number of sent writes, of so many in one a second, if each has this answer.
    #[track_caller]
    fn check(how: &How, answer: Option<Result<(), WriteError>>, tries: u64, sent: usize) {
        let (mut guesses, began) = (SecretGuesses::default(), Instant::now());
        let mut count = 0;
        for second in 0..tries {
            let now = began + Duration::from_secs(second);
            if let Ok(guess) = guesses.begin("a", &write("password", how.clone()), now) {
                guesses.end(guess, answer.as_ref());
                count += 1;
            }
        }
        assert_eq!(count, sent, "{how:?} {answer:?}");
    }

    /// Invariant 35.
    #[test]
    fn so_many_writes_of_a_secret_are_refused_and_then_one_a_minute() {
        for how in [How::MergePatch, How::StrategicPatch, How::JsonPatch, How::Update] {
            check(&how, Some(refused(422)), 610, 20);
        }
        check(&How::Apply(true), Some(refused(403)), 60, 10);
        check(&How::MergePatch, Some(refused(409)), 60, 10);
        let unknown = Err(WriteError::Transport("it may have been done".to_owned()));
        check(&How::MergePatch, Some(unknown), 60, 10);
    }

    #[test]
    fn what_tells_nothing_does_not_count() {
        check(&How::MergePatch, Some(Ok(())), 600, 600);
        check(&How::MergePatch, Some(refused(404)), 600, 600);
        check(&How::MergePatch, Some(refused(429)), 600, 600);
        check(&How::MergePatch, None, 600, 600);
        check(&How::Create, Some(refused(409)), 600, 600);
        check(&How::Delete(Some("u".to_owned())), Some(refused(409)), 600, 600);
    }

    #[test]
    fn secrets_and_plugins_are_counted_for_themselves_and_bounded() {
        let (mut guesses, now) = (SecretGuesses::default(), Instant::now());
        let mut begin = |plugin: &str, name: &str, now: Instant| {
            guesses.begin(plugin, &write(name, How::MergePatch), now).is_ok()
        };
        for number in 0..SECRETS_MAX {
            assert!(begin("a", &number.to_string(), now));
        }
        assert!(!begin("a", "one-more", now));
        assert!(begin("a", "0", now) && begin("b", "one-more", now));
        // A refusal is forgotten when its time has passed.
        assert!(begin("a", "one-more", now + REFUSED_EVERY + Duration::from_secs(1)));
    }
}
