//! Sends the messages of one signal: repeats what may be repeated, and counts.

use super::client::{OtlpClient, PostError};
use super::health::ExportHealth;
use super::messages::ExportResponse;
use crate::metrics::OtlpCounts;
use informant_runtime::one_line;
use prost::Message;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The number of times that one message is sent.
pub(super) const ATTEMPTS_MAX: u32 = 5;
/// The first wait between two of them; each further wait is twice as long.
const WAIT_BASE: Duration = Duration::from_secs(1);
/// The longest wait, also if the collector asks for more.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// Bytes of the collector's text in the log.
const TEXT_BYTES_MAX: usize = 256;

pub(super) struct Sender {
    client: OtlpClient,
    health: ExportHealth,
    pub(super) counts: Arc<OtlpCounts>,
}

impl Sender {
    pub(super) fn new(client: OtlpClient, health: ExportHealth, counts: Arc<OtlpCounts>) -> Self {
        Self { client, health, counts }
    }

    /// Sends the message up to so many times; after `end` once more at most. Returns how many of its items the collector
    /// refused, or `None` if it took none.
    pub(super) async fn send(
        &mut self,
        message: &impl Message,
        attempts_max: u32,
        end: &CancellationToken,
    ) -> Option<u64> {
        let mut attempt = 1;
        loop {
            let is_last = end.is_cancelled();
            match self.client.post(message.encode_to_vec()).await {
                Ok(answer) => {
                    self.counts.requests_ok.fetch_add(1, Relaxed);
                    let (rejected, said) = rejected(&answer);
                    self.health.note(if rejected == 0 { Ok(()) } else { Err(&said) });
                    return Some(rejected);
                }
                Err(error) => {
                    self.counts.requests_failed.fetch_add(1, Relaxed);
                    self.health.note(Err(&error.text));
                    let wait = wait(&error, attempt, attempts_max).filter(|_| !is_last)?;
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = end.cancelled() => {}
                    }
                }
            }
            attempt += 1;
        }
    }
}

/// The wait before the next attempt, if there is one.
fn wait(error: &PostError, attempt: u32, attempts_max: u32) -> Option<Duration> {
    let may_repeat = error.may_repeat && attempt < attempts_max;
    let usual = WAIT_BASE.saturating_mul(1 << (attempt - 1).min(8));
    may_repeat.then(|| error.wait.unwrap_or(usual).min(WAIT_MAX))
}

/// The number of items that the collector refused, and its reason.
fn rejected(answer: &[u8]) -> (u64, String) {
    let answer = ExportResponse::decode(answer).unwrap_or_default();
    let partial = answer.partial_success.unwrap_or_default();
    let rejected = u64::try_from(partial.rejected).unwrap_or_default();
    let said = one_line(&partial.error_message, TEXT_BYTES_MAX);
    (rejected, format!("the collector refused {rejected} of them: {said}"))
}

#[cfg(test)]
mod tests {
    use super::super::messages::PartialSuccess;
    use super::*;

    #[track_caller]
    fn check(may_repeat: bool, asked: Option<u64>, attempt: u32, expect: Option<u64>) {
        let asked = asked.map(Duration::from_secs);
        let error = PostError { text: String::new(), may_repeat, wait: asked };
        let found = wait(&error, attempt, ATTEMPTS_MAX);
        assert_eq!(found, expect.map(Duration::from_secs), "{attempt}");
    }

    #[test]
    fn requests_come_again_with_growing_waits_up_to_a_bound() {
        let expect = [Some(1), Some(2), Some(4), Some(8), None];
        (1..).zip(expect).for_each(|(attempt, wait)| check(true, None, attempt, wait));
        check(true, Some(7), 1, Some(7));
        check(true, Some(7_000), 1, Some(30));
        check(false, Some(7), 1, None);
    }

    #[test]
    fn a_partial_success_is_read() {
        let partial = PartialSuccess { rejected: 3, error_message: "too\nold".to_owned() };
        let answer = ExportResponse { partial_success: Some(partial) }.encode_to_vec();
        let said = r"the collector refused 3 of them: too\nold";
        assert_eq!(rejected(&answer), (3, said.to_owned()));
        assert_eq!(rejected(b"").0, 0);
        assert_eq!(rejected(b"\xff\xff").0, 0);
    }
}
