//! Connections that wait for the next request of their plugin. There are few of them, and they wait for a short time
//! and have a largest age. A connection is used again only for the same plugin, the same allowed addresses and the
//! same credentials. Some servers identify their client by the connection.

use super::secrets::Secret;
use http::HeaderValue;
use informant_runtime::{AddressKinds, HttpRequest};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Many servers end a connection after 5 s.
const IDLE_MAX: Duration = Duration::from_secs(4);
/// How long the resolved addresses of a name count, however often a connection is used.
const AGE_MAX: Duration = Duration::from_secs(60);
/// The number of connections of one plugin. A plugin makes one request at a time, so this is the number of servers.
const OF_PLUGIN_MAX: usize = 4;
const ALL_MAX: usize = 64;

/// The plugin of a connection, and the server that it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    plugin: String,
    origin: String,
    addresses: AddressKinds,
    /// The credentials that the host adds. Their values are not shown.
    credentials: Vec<(String, HeaderValue)>,
}

impl Key {
    pub(super) fn of(request: &HttpRequest, secrets: &[Secret]) -> Self {
        let credentials = secrets.iter().map(|it| (it.header.clone(), it.value.clone()));
        Self {
            credentials: credentials.collect(),
            plugin: request.plugin.clone(),
            origin: request.target.origin().to_owned(),
            addresses: request.addresses.clone(),
        }
    }
}

/// The connections, and the task that ends the connections that have waited too long. The task runs while there are
/// connections.
pub(super) struct IdleConnections<C> {
    idle: Arc<Mutex<Idle<C>>>,
    sweeper: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl<C> Default for IdleConnections<C> {
    fn default() -> Self {
        Self::lasting(IDLE_MAX)
    }
}

impl<C> IdleConnections<C> {
    fn lasting(idle_max: Duration) -> Self {
        let idle = Arc::new(Mutex::new(Idle::new(idle_max)));
        Self { idle, sweeper: Mutex::default() }
    }
}

impl<C: Send + 'static> IdleConnections<C> {
    /// Takes a connection for this key.
    pub(super) fn take(&self, key: &Key) -> Option<C> {
        self.idle.lock().take(key, Instant::now())
    }

    /// Keeps a connection that was made at `made`. Call it within an async runtime.
    pub(super) fn put(&self, key: Key, connection: C, made: Instant) {
        if !self.idle.lock().put(key, connection, made, Instant::now()) {
            return;
        }
        let idle = self.idle.clone();
        let next = move || idle.lock().sweep(Instant::now());
        let sweep = async move {
            while let Some(next) = next() {
                tokio::time::sleep_until(next).await;
            }
        };
        *self.sweeper.lock() = Some(AbortOnDropHandle::new(tokio::spawn(sweep)));
    }
}

/// The connections, oldest first.
struct Idle<C> {
    waiting: VecDeque<(Key, Instant, C)>,
    idle_max: Duration,
    /// Whether a task will sweep the connections.
    is_swept: bool,
}

impl<C> Idle<C> {
    fn new(idle_max: Duration) -> Self {
        Self { waiting: VecDeque::new(), idle_max, is_swept: false }
    }

    fn take(&mut self, key: &Key, now: Instant) -> Option<C> {
        self.expire(now);
        let found = self.waiting.iter().rposition(|(of, _, _)| of == key)?;
        self.waiting.remove(found).map(|(_, _, connection)| connection)
    }

    /// Returns whether a new sweep is needed. A connection that is too old ends here.
    fn put(&mut self, key: Key, connection: C, made: Instant, now: Instant) -> bool {
        self.expire(now);
        if now.duration_since(made) + self.idle_max > AGE_MAX {
            return false;
        }
        let is_of_plugin = |(of, _, _): &(Key, Instant, C)| of.plugin == key.plugin;
        if self.waiting.iter().filter(|it| is_of_plugin(it)).count() >= OF_PLUGIN_MAX
            && let Some(oldest) = self.waiting.iter().position(is_of_plugin)
        {
            self.waiting.remove(oldest);
        }
        if self.waiting.len() >= ALL_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back((key, now, connection));
        !std::mem::replace(&mut self.is_swept, true)
    }

    /// Ends the connections that have waited too long. Returns the time for the next sweep, if any connection is left.
    fn sweep(&mut self, now: Instant) -> Option<Instant> {
        self.expire(now);
        let next = self.waiting.front().map(|(_, since, _)| *since + self.idle_max);
        self.is_swept = next.is_some();
        next
    }

    fn expire(&mut self, now: Instant) {
        let is_over = |since: Instant| now >= since + self.idle_max;
        while self.waiting.front().is_some_and(|(_, since, _)| is_over(*since)) {
            self.waiting.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(plugin: &str, origin: &str) -> Key {
        let (plugin, origin) = (plugin.to_owned(), origin.to_owned());
        Key { plugin, origin, addresses: AddressKinds::default(), credentials: Vec::new() }
    }

    fn empty() -> Idle<u32> {
        Idle::new(IDLE_MAX)
    }

    #[test]
    fn a_connection_is_its_plugins_and_leads_where_it_leads() {
        let (mut idle, now) = (empty(), Instant::now());
        idle.put(key("a", "https://x"), 1, now, now);
        idle.put(key("a", "https://x"), 2, now, now);
        for other in [key("b", "https://x"), key("a", "http://x"), key("a", "https://y")] {
            assert_eq!(idle.take(&other, now), None);
        }
        assert_eq!(idle.take(&key("a", "https://x"), now), Some(2), "the newest");
        assert_eq!(idle.take(&key("a", "https://x"), now), Some(1));
        assert_eq!(idle.take(&key("a", "https://x"), now), None);
    }

    #[test]
    fn connections_are_few_for_each_and_for_all() {
        let (mut idle, now) = (empty(), Instant::now());
        for number in 0..=OF_PLUGIN_MAX {
            idle.put(key("a", &number.to_string()), 0, now, now);
        }
        assert_eq!(idle.take(&key("a", "0"), now), None, "the oldest has gone");
        assert_eq!(idle.waiting.len(), OF_PLUGIN_MAX);
        for number in 0..ALL_MAX {
            idle.put(key(&number.to_string(), "x"), 0, now, now);
        }
        assert_eq!(idle.waiting.len(), ALL_MAX);
        assert_eq!(idle.take(&key("a", "1"), now), None);
        assert_eq!(idle.take(&key("0", "x"), now), Some(0));
    }

    #[test]
    fn a_connection_waits_so_long_and_no_longer() {
        let (mut idle, start) = (empty(), Instant::now());
        assert!(idle.put(key("a", "x"), 1, start, start), "nobody comes yet");
        assert!(!idle.put(key("a", "y"), 2, start, start + IDLE_MAX / 2));
        let before = start + IDLE_MAX - Duration::from_millis(1);
        assert_eq!(idle.sweep(before), Some(start + IDLE_MAX));
        assert_eq!(idle.sweep(start + IDLE_MAX), Some(start + IDLE_MAX * 3 / 2));
        assert_eq!(idle.take(&key("a", "x"), start + IDLE_MAX), None);
        assert_eq!(idle.take(&key("a", "y"), start + IDLE_MAX * 3 / 2), None);
        assert_eq!(idle.sweep(start + IDLE_MAX * 2), None);
        assert!(idle.put(key("a", "x"), 3, start, start + IDLE_MAX * 2), "whoever came is gone");
    }

    #[test]
    fn a_connection_is_used_with_its_credentials_alone() {
        let (mut idle, now) = (empty(), Instant::now());
        let with = |value: &'static str| {
            let credentials = vec![("authorization".to_owned(), HeaderValue::from_static(value))];
            Key { credentials, ..key("a", "x") }
        };
        idle.put(with("one"), 1, now, now);
        assert_eq!([idle.take(&with("two"), now), idle.take(&key("a", "x"), now)], [None; 2]);
        assert_eq!(idle.take(&with("one"), now), Some(1));
    }

    #[test]
    fn an_old_connection_is_not_kept() {
        let (mut idle, made) = (empty(), Instant::now());
        let last = made + AGE_MAX - IDLE_MAX;
        idle.put(key("a", "x"), 1, made, last);
        assert_eq!(idle.take(&key("a", "x"), last), Some(1));
        idle.put(key("a", "x"), 1, made, last + Duration::from_millis(1));
        assert_eq!(idle.take(&key("a", "x"), last + Duration::from_millis(1)), None);
    }

    #[tokio::test]
    async fn connections_end_though_nobody_asks_any_more() {
        let idle = IdleConnections::lasting(Duration::from_millis(1));
        for _ in 0..2 {
            let (connections, ends): (Vec<_>, Vec<_>) =
                (0..2).map(|_| tokio::sync::oneshot::channel::<()>()).unzip();
            for connection in connections {
                idle.put(key("a", "x"), connection, Instant::now());
            }
            for end in ends {
                assert!(end.await.is_err(), "it is told by the connection's end");
            }
        }
    }
}
