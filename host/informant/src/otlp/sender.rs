//! Sends the messages of one signal: repeats what may be repeated, and counts.

use super::client::{OtlpBody, OtlpClient, PostError};
use super::health::ExportHealth;
use super::messages::ExportResponse;
use crate::metrics::OtlpCounts;
use informant_runtime::one_line;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The number of times that one message is sent.
pub(super) const ATTEMPTS_MAX: u32 = 5;
/// The first wait between two of them, at most; each further wait is twice as long.
const WAIT_BASE: Duration = Duration::from_secs(1);
/// The longest wait, also if the collector asks for more.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// The longest time without requests that a collector may ask for.
const PAUSE_MAX: Duration = Duration::from_secs(600);
/// Bytes of the collector's text in the log.
const TEXT_BYTES_MAX: usize = 256;

pub(super) struct Sender {
    client: OtlpClient,
    health: ExportHealth,
    pub(super) counts: Arc<OtlpCounts>,
    /// Before this time the collector wants no request.
    not_before: Option<Instant>,
}

impl Sender {
    pub(super) fn new(client: OtlpClient, health: ExportHealth, counts: Arc<OtlpCounts>) -> Self {
        Self { client, health, counts, not_before: None }
    }

    /// Whether bodies are to be compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.client.is_compressed()
    }

    /// Whether the last answer asks for a longer wait.
    pub(super) fn must_wait(&self) -> bool {
        self.not_before.is_some_and(|time| Instant::now() < time)
    }

    /// Notes that all was sent that belongs together.
    pub(super) fn succeeded(&mut self) {
        self.health.note(Ok(()));
    }

    /// Sends the message up to so many times; after `end` once more at most. Returns how many of its items the collector
    /// refused, or `None` if it took none.
    pub(super) async fn send(
        &mut self,
        body: &OtlpBody,
        attempts_max: u32,
        end: &CancellationToken,
    ) -> Option<u64> {
        let mut attempt = 1;
        loop {
            let is_last = end.is_cancelled();
            let error = match self.client.post(body).await {
                Ok(answer) => return Some(self.taken(answer)),
                Err(error) => error,
            };
            self.counts.requests_failed.fetch_add(1, Relaxed);
            self.health.note(Err(&error.text));
            self.not_before = error.wait.map(|asked| Instant::now() + asked.min(PAUSE_MAX));
            let wait =
                wait(&error, (attempt, attempts_max), fastrand::f64()).filter(|_| !is_last)?;
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = end.cancelled() => {}
            }
            attempt += 1;
        }
    }

    /// Notes an answer with success. Returns how many items the collector refused.
    fn taken(&mut self, answer: ExportResponse) -> u64 {
        self.not_before = None;
        let Some((rejected, said)) = refusal(answer) else {
            self.counts.requests_ok.fetch_add(1, Relaxed);
            return 0;
        };
        self.counts.requests_partial.fetch_add(1, Relaxed);
        self.health.note_refused(&said);
        rejected
    }
}

/// The wait before the next attempt, if there is one. `random` is from 0 to 1: hosts that failed together come again at
/// different times.
fn wait(error: &PostError, (attempt, attempts_max): (u32, u32), random: f64) -> Option<Duration> {
    let may_repeat = error.may_repeat && attempt < attempts_max;
    let usual = WAIT_BASE.saturating_mul(1 << (attempt - 1).min(8));
    let usual = usual.mul_f64(0.5 + random / 2.0);
    may_repeat.then(|| error.wait.unwrap_or_default().max(usual).min(WAIT_MAX))
}

/// The number of items that the collector refused, and its reason. `None`: it took all, and says no more.
fn refusal(answer: ExportResponse) -> Option<(u64, String)> {
    let partial = answer.partial_success?;
    let rejected = u64::try_from(partial.rejected).unwrap_or_default();
    let said = one_line(&partial.error_message, TEXT_BYTES_MAX);
    let has_said = rejected > 0 || !said.is_empty();
    has_said.then(|| (rejected, format!("the collector refused {rejected} items: {said}")))
}

#[cfg(test)]
mod tests {
    use super::super::client::tests::{client_of, message, serve};
    use super::super::messages::PartialSuccess;
    use super::*;
    use prost::Message as _;
    use tokio::net::TcpListener;

    #[track_caller]
    fn check(
        may_repeat: bool,
        asked: Option<u64>,
        (attempt, random): (u32, f64),
        expect: Option<u64>,
    ) {
        let asked = asked.map(Duration::from_secs);
        let error = PostError { text: String::new(), may_repeat, wait: asked };
        let found = wait(&error, (attempt, ATTEMPTS_MAX), random);
        assert_eq!(found, expect.map(Duration::from_millis), "{attempt}");
    }

    #[test]
    fn requests_come_again_with_growing_waits_up_to_a_bound() {
        for (random, expect) in
            [(1.0, [1_000, 2_000, 4_000, 8_000]), (0.0, [500, 1_000, 2_000, 4_000])]
        {
            (1..)
                .zip(expect)
                .for_each(|(attempt, wait)| check(true, None, (attempt, random), Some(wait)));
        }
        check(true, None, (5, 1.0), None);
        check(true, Some(0), (1, 1.0), Some(1_000));
        check(true, Some(7), (1, 1.0), Some(7_000));
        check(true, Some(7_000), (1, 1.0), Some(30_000));
        check(false, Some(7), (1, 1.0), None);
    }

    #[test]
    fn a_partial_success_is_read() {
        let read = |rejected, text: &str| {
            let partial = PartialSuccess { rejected, error_message: text.to_owned() };
            refusal(ExportResponse { partial_success: Some(partial) })
        };
        let said = r"the collector refused 3 items: too\nold";
        assert_eq!(read(3, "too\nold"), Some((3, said.to_owned())));
        assert_eq!(read(0, "warned").map(|(rejected, _)| rejected), Some(0));
        assert_eq!(read(0, ""), None);
        assert_eq!(refusal(ExportResponse { partial_success: None }), None);
    }

    #[tokio::test]
    async fn answers_are_counted_and_a_collector_may_ask_for_a_pause() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (counts, health) = (Arc::<OtlpCounts>::default(), ExportHealth::new("metrics"));
        let mut sender = Sender::new(client_of(&url, &[]), health, counts.clone());
        let partial = PartialSuccess { rejected: 3, error_message: "old".to_owned() };
        let partial = ExportResponse { partial_success: Some(partial) }.encode_to_vec();
        let length = partial.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        let partial = [head.as_bytes(), &partial].concat();
        let busy = "HTTP/1.1 429 Busy\r\nretry-after: 60\r\ncontent-length: 0\r\n\r\n";
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let large = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(1 << 20));
        let (body, end) =
            (OtlpBody::new(message().encode_to_vec(), false), CancellationToken::new());
        for (answer, expect) in [
            (&partial[..], (Some(3), false)),
            (busy.as_bytes(), (None, true)),
            (whole.as_bytes(), (Some(0), false)),
            (large.as_bytes(), (None, false)),
        ] {
            let (sent, _) = tokio::join!(sender.send(&body, 1, &end), serve(&listener, answer));
            assert_eq!((sent, sender.must_wait()), expect);
        }
        let counted = [&counts.requests_ok, &counts.requests_partial, &counts.requests_failed];
        assert_eq!(counted.map(|count| count.load(Relaxed)), [1, 1, 2]);
    }
}
