//! The way of all plugins' requests to the world outside: each waits until its plugin may ask again, and then for its turn.

use crate::http_client::{HttpClient, HttpError, HttpRequest, HttpResponse};
use crate::leading::Leading;
use crate::token_bucket::TokenBucket;
use crate::turns::Turns;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::SemaphorePermit;

/// Who hands out turns. Clones share them.
#[derive(Clone)]
pub(crate) struct HttpTurns {
    client: Arc<dyn HttpClient>,
    turns: Turns,
    rates: Arc<Mutex<Rates>>,
}

/// What each plugin has asked lately. It belongs to the name: instances and versions come and go.
#[derive(Default)]
struct Rates(BTreeMap<String, TokenBucket>);

/// One request may be sent now.
pub(crate) struct HttpTurn<'a> {
    client: &'a dyn HttpClient,
    _turn: SemaphorePermit<'a>,
}

impl HttpTurns {
    pub(crate) fn new(client: Arc<dyn HttpClient>, leading: Leading) -> Self {
        Self { client, turns: Turns::new(leading), rates: Arc::default() }
    }

    /// Waits until this plugin may ask again, and then for a turn; none if this host does not lead.
    pub(crate) async fn turn(&self, plugin: &str, per_second: u32) -> Option<HttpTurn<'_>> {
        loop {
            // The runtime's time: it stands still where a test says so.
            let now = tokio::time::Instant::now().into_std();
            let Err(wait) = self.rates.lock().take(plugin, per_second, now) else { break };
            tokio::time::sleep(wait).await;
        }
        let turn = self.turns.turn().await?;
        Some(HttpTurn { client: &*self.client, _turn: turn })
    }
}

impl HttpTurn<'_> {
    /// Sends the request at once: between this and the turn nobody is to wait. The turn ends with the answer, or with whoever waits for it.
    pub(crate) async fn send(self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.client.send(request).await
    }
}

impl Rates {
    /// Takes one request, or says how long it takes until there is one. A second's worth may be asked at once after a pause.
    fn take(&mut self, plugin: &str, per_second: u32, now: Instant) -> Result<(), Duration> {
        let rate = f64::from(per_second);
        let rates = &mut self.0;
        if !rates.contains_key(plugin) {
            // Whoever has paid for everything need not be known.
            rates.retain(|_, bucket| {
                bucket.refill(now);
                !bucket.is_full()
            });
        }
        let bucket =
            rates.entry(plugin.to_owned()).or_insert_with(|| TokenBucket::new(rate, rate, now));
        bucket.set(rate, rate, now);
        if bucket.tokens() >= 1.0 {
            bucket.spend(1.0);
            return Ok(());
        }
        // What rounding leaves is not worth another look.
        Err(bucket.until(1.0) + Duration::from_millis(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http_client::NoHttp;

    #[tokio::test(start_paused = true)]
    async fn a_plugin_asks_so_often_and_no_more() {
        let turns = HttpTurns::new(Arc::new(NoHttp), Leading::default());
        let began = tokio::time::Instant::now();
        let asked = async |plugin: &str, times: u32| {
            for _ in 0..times {
                assert!(turns.turn(plugin, 10).await.is_some(), "everybody leads");
            }
            began.elapsed().as_millis()
        };
        assert_eq!(asked("a", 10).await, 0, "a second's worth at once");
        assert_eq!(asked("b", 10).await, 0, "another's do not count");
        let took = asked("a", 10).await;
        assert!((1_000..1_050).contains(&took), "{took}");
    }

    #[test]
    fn whoever_asks_nothing_is_forgotten() {
        let (mut rates, start) = (Rates::default(), Instant::now());
        for number in 0..1_000 {
            let now = start + Duration::from_secs(number);
            assert_eq!(rates.take(&number.to_string(), 1, now), Ok(()));
            assert!(rates.0.len() <= 2);
        }
    }

    #[test]
    fn a_changed_rate_holds_at_once() {
        let (mut rates, now) = (Rates::default(), Instant::now());
        for _ in 0..10 {
            assert_eq!(rates.take("a", 10, now), Ok(()));
        }
        assert!(rates.take("a", 1, now).is_err());
        assert_eq!(rates.take("a", 20, now), Ok(()));
    }
}
