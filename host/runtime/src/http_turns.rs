//! The way of all plugins' requests to the world outside: each waits until its plugin may ask again, and then for its turn.

use crate::http_client::{HttpClient, HttpError, HttpRequest, HttpResponse};
use crate::leading::Leading;
use crate::shares::Shares;
use crate::turns::Turns;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, SemaphorePermit};

/// Who hands out turns. Clones share them.
#[derive(Clone)]
pub(crate) struct HttpTurns {
    client: Arc<dyn HttpClient>,
    turns: Turns,
    shares: Shares,
}

/// One request may be sent now.
pub(crate) struct HttpTurn<'a> {
    client: &'a dyn HttpClient,
    _turn: SemaphorePermit<'a>,
    _of_plugin: OwnedSemaphorePermit,
}

impl HttpTurns {
    pub(crate) fn new(client: Arc<dyn HttpClient>, leading: Leading) -> Self {
        Self { client, turns: Turns::new(leading), shares: Shares::default() }
    }

    /// Waits until this plugin may ask again, and then for a turn; none if this host does not lead.
    pub(crate) async fn turn(&self, plugin: &str, per_second: u32) -> Option<HttpTurn<'_>> {
        let of_plugin = self.shares.take(plugin, per_second).await;
        let turn = self.turns.turn().await?;
        Some(HttpTurn { client: &*self.client, _turn: turn, _of_plugin: of_plugin })
    }
}

impl HttpTurn<'_> {
    /// Sends the request at once: between this and the turn nobody is to wait. The turn ends with the answer, or with whoever waits for it.
    pub(crate) async fn send(self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.client.send(request).await
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
}
