//! Turns for the requests of one kind, of all plugins. A request waits for its plugin's rate (`outside/shares.rs`) and
//! then for its turn (`outside/turns/line.rs`). Nothing is sent if the host does not lead at that turn.

mod line;

use crate::outside::cluster_writer::{ClusterWriter, WriteError, WriteRequest};
use crate::outside::http_client::{HttpClient, HttpError, HttpRequest, HttpResponse};
use crate::outside::leading::Leading;
use crate::outside::shares::Shares;
use line::TurnLine;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

pub(crate) use line::{AT_ONCE, AT_ONCE_OF_ONE, FOR_OTHERS};

/// The turns of writes to the cluster.
pub(crate) type WriteTurns = RequestTurns<dyn ClusterWriter>;
/// The turns of outside HTTP requests.
pub(crate) type HttpTurns = RequestTurns<dyn HttpClient>;

/// One task writes Kubernetes Events for all plugins. No plugin has this name.
const EVENTS: &str = "";

/// Gives turns to send by `T`. Clones share them.
pub(crate) struct RequestTurns<T: ?Sized> {
    sender: Arc<T>,
    line: Arc<SharedLine>,
    shares: Shares,
    leading: Leading,
    /// Plugins' requests under way. Closed: no more begin.
    under_way: TaskTracker,
}

type SharedLine = Mutex<TurnLine<oneshot::Sender<TurnPlace>>>;

/// One request may be sent now. The turn ends with the answer, or when it is dropped.
pub(crate) struct RequestTurn<'a, T: ?Sized> {
    sender: &'a T,
    _place: TurnPlace,
    /// `None` for Kubernetes Events.
    _under_way: Option<TaskTrackerToken>,
}

/// A request of this plugin is under way.
struct TurnPlace {
    line: Arc<SharedLine>,
    plugin: String,
}

impl<T: ?Sized> Clone for RequestTurns<T> {
    fn clone(&self) -> Self {
        let (sender, line) = (self.sender.clone(), self.line.clone());
        let (shares, leading) = (self.shares.clone(), self.leading.clone());
        Self { sender, line, shares, leading, under_way: self.under_way.clone() }
    }
}

impl<T: ?Sized> RequestTurns<T> {
    pub(crate) fn new(sender: Arc<T>, leading: Leading) -> Self {
        let (shares, under_way) = (Shares::default(), TaskTracker::new());
        Self { sender, line: Arc::default(), shares, leading, under_way }
    }

    /// Waits for this plugin's rate, and then for a turn. `None` if this host does not lead at that turn, or ends.
    pub(crate) async fn turn(&self, plugin: &str, per_second: u32) -> Option<RequestTurn<'_, T>> {
        self.shares.take(plugin, per_second).await;
        let turn = self.next(plugin).await?;
        // First the token: either the end waits for it, or this request sees the end.
        let under_way = Some(self.under_way.token());
        (!self.under_way.is_closed()).then_some(RequestTurn { _under_way: under_way, ..turn })
    }

    /// From now on no request of a plugin begins. Waits for the ends of those that are under way.
    pub(crate) async fn end(&self) {
        self.under_way.close();
        self.under_way.wait().await;
    }

    async fn next(&self, plugin: &str) -> Option<RequestTurn<'_, T>> {
        if !self.leading.is_leader() {
            return None;
        }
        let (waiter, place) = oneshot::channel();
        self.line.lock().wait(plugin, waiter);
        hand_out(&self.line);
        let place = place.await.expect("the line keeps everybody who waits");
        // Invariant 34.
        let turn = RequestTurn { sender: &*self.sender, _place: place, _under_way: None };
        self.leading.is_leader().then_some(turn)
    }
}

fn hand_out(line: &Arc<SharedLine>) {
    loop {
        let next = line.lock().next(|waiter| !waiter.is_closed());
        let Some((plugin, waiter)) = next else { return };
        // Dropping the place of a caller that gave up passes it on.
        drop(waiter.send(TurnPlace { line: line.clone(), plugin }));
    }
}

impl Drop for TurnPlace {
    fn drop(&mut self) {
        self.line.lock().end(&self.plugin);
        hand_out(&self.line);
    }
}

impl RequestTurns<dyn ClusterWriter> {
    /// A turn for Kubernetes Events, which one task writes in sequence. Their rate is bounded where they are recorded.
    pub(crate) async fn turn_for_events(&self) -> Option<RequestTurn<'_, dyn ClusterWriter>> {
        self.next(EVENTS).await
    }
}

impl RequestTurn<'_, dyn ClusterWriter> {
    /// Sends the request at once. The caller must not wait between the turn and this call.
    pub(crate) async fn write(self, request: WriteRequest) -> Result<Vec<u8>, WriteError> {
        self.sender.write(request).await
    }
}

impl RequestTurn<'_, dyn HttpClient> {
    /// Sends the request at once. The caller must not wait between the turn and this call.
    pub(crate) async fn send(self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.sender.send(request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outside::cluster_writer::NoCluster;
    use crate::outside::http_client::NoHttp;
    use informant_cache::leader_election::testing::FakeLock;
    use informant_cache::leader_election::{LeaderElectionConfig, LeaderElector};
    use std::future::pending;
    use std::time::Duration;
    use tokio::time::timeout;

    const SECOND: Duration = Duration::from_secs(1);

    fn writes(leading: Leading) -> WriteTurns {
        RequestTurns::new(Arc::new(NoCluster), leading)
    }

    /// Takes a turn for each of so many plugins, so that none is left.
    async fn all(turns: &WriteTurns) -> Vec<RequestTurn<'_, dyn ClusterWriter>> {
        let mut taken = Vec::new();
        for number in 0..AT_ONCE {
            taken.push(turns.turn(&number.to_string(), 1).await.expect("it leads"));
        }
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_are_under_way_at_once_and_others_wait() {
        let turns = writes(Leading::default());
        let mut taken = all(&turns).await;
        assert!(timeout(SECOND, turns.turn("a", 1)).await.is_err());
        // A caller that gave up blocks no other.
        taken.pop();
        assert!(timeout(SECOND, turns.turn("b", 1)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_nobody_takes_any_more_is_anothers() {
        let turns = writes(Leading::default());
        let mut taken = all(&turns).await;
        let mut given_up = Box::pin(turns.turn("a", 1));
        assert!(timeout(SECOND, &mut given_up).await.is_err());
        // The caller has its turn, and is gone before it is polled.
        taken.pop();
        drop(given_up);
        assert!(timeout(SECOND, turns.turn("b", 1)).await.is_ok());
    }

    /// Invariant 34.
    #[tokio::test(start_paused = true)]
    async fn who_waits_while_the_lead_is_lost_gets_no_turn() {
        let config = LeaderElectionConfig::new("a");
        let elector = LeaderElector::new(Arc::new(FakeLock::default()), config);
        let elector = elector.expect("it can work");
        let leadership = elector.leadership();
        let turns = writes(Leading::new(Some(leadership.clone())));
        assert!(turns.turn("a", 1).await.is_none(), "nobody leads yet");
        let electing = tokio::spawn(elector.run(pending()));
        leadership.acquired().await;
        let mut taken = all(&turns).await;
        let (waits, loses) = (turns.turn("b", 1), async {
            electing.abort();
            leadership.lost().await;
            taken.clear();
        });
        let (turn, ()) = tokio::join!(waits, loses);
        assert!(turn.is_none());
        assert!(turns.turn("c", 1).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_waits_for_requests_under_way_and_no_more_begin() {
        let turns = writes(Leading::default());
        let under_way = turns.turn("a", 1).await.expect("it leads");
        let mut end = Box::pin(turns.end());
        assert!(timeout(SECOND, &mut end).await.is_err());
        assert!(turns.turn("b", 1).await.is_none());
        assert!(turns.turn_for_events().await.is_some(), "the last Events are still written");
        drop(under_way);
        assert!(timeout(SECOND, end).await.is_ok());
    }

    /// The ms since `began` when a plugin has had so many turns.
    async fn asked<T: ?Sized>(
        turns: &RequestTurns<T>,
        began: tokio::time::Instant,
        plugin: &str,
        times: u32,
    ) -> u128 {
        for _ in 0..times {
            assert!(turns.turn(plugin, 10).await.is_some(), "everybody leads");
        }
        began.elapsed().as_millis()
    }

    #[tokio::test(start_paused = true)]
    async fn a_plugin_writes_so_often_and_no_more() {
        let (turns, began) = (writes(Leading::default()), tokio::time::Instant::now());
        assert_eq!(asked(&turns, began, "a", 10).await, 0, "a second's worth at once");
        for _ in 0..100 {
            assert!(turns.turn_for_events().await.is_some(), "Events do not count");
        }
        assert_eq!(asked(&turns, began, "b", 10).await, 0, "nor do another's");
        let took = asked(&turns, began, "a", 10).await;
        assert!((1_000..1_050).contains(&took), "{took}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_plugin_asks_so_often_and_no_more() {
        let turns = HttpTurns::new(Arc::new(NoHttp), Leading::default());
        let began = tokio::time::Instant::now();
        assert_eq!(asked(&turns, began, "a", 10).await, 0, "a second's worth at once");
        assert_eq!(asked(&turns, began, "b", 10).await, 0, "another's do not count");
        let took = asked(&turns, began, "a", 10).await;
        assert!((1_000..1_050).contains(&took), "{took}");
    }
}
