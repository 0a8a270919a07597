//! Resolves names to addresses with the system's resolver.

use futures::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The number of lookups of all plugins at once. A lookup cannot be ended. It holds a thread for as long as the
/// system's resolver tries, which is half a minute if no server answers. The async runtime has 512 such threads.
const LOOKUPS_MAX: usize = 64;
/// The number of lookups of one plugin. A plugin makes one request at a time; the other lookup is of a request that
/// was given up.
pub(super) const OF_PLUGIN_MAX: usize = 2;
/// The number of the host's own lookups. Each request of a plugin needs one or two.
const OF_HOST_MAX: usize = 16;
/// How long a caller waits for a lookup, including its turn. A call waits for 10 s by default.
const LOOKUP_TIME_MAX: Duration = Duration::from_secs(5);

/// The party that asks for a name.
#[derive(Clone, Copy)]
pub(super) enum Asker<'a> {
    Plugin(&'a str),
    Host,
}

/// Finds a name's addresses. A seam: tests choose the addresses of a name, and can change them for the next lookup.
pub(super) trait Resolver: Send + Sync + 'static {
    fn resolve(&self, asker: Asker<'_>, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// Looks a name up. Blocks its thread until the lookup ends.
type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// The system's resolver.
pub(super) struct SystemResolver {
    lookup: Lookup,
    of_plugins: Arc<Semaphore>,
    of_host: Arc<Semaphore>,
    /// The turns of each plugin that looks a name up or waits for a turn.
    of_plugin: Mutex<BTreeMap<String, Weak<Semaphore>>>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::with(Arc::new(|host| {
            (host, 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
        }))
    }
}

impl SystemResolver {
    fn with(lookup: Lookup) -> Self {
        Self {
            lookup,
            of_plugins: Arc::new(Semaphore::new(LOOKUPS_MAX)),
            of_host: Arc::new(Semaphore::new(OF_HOST_MAX)),
            of_plugin: Mutex::default(),
        }
    }

    /// The semaphores that a lookup needs a permit of, in this order.
    fn turns(&self, asker: Asker<'_>) -> Vec<Arc<Semaphore>> {
        let Asker::Plugin(plugin) = asker else { return vec![self.of_host.clone()] };
        let mut of_plugin = self.of_plugin.lock();
        let own = of_plugin.get(plugin).and_then(Weak::upgrade).unwrap_or_else(|| {
            of_plugin.retain(|_, turns| turns.strong_count() > 0);
            let turns = Arc::new(Semaphore::new(OF_PLUGIN_MAX));
            of_plugin.insert(plugin.to_owned(), Arc::downgrade(&turns));
            turns
        });
        // A plugin that waits for its own turn holds no turn of all plugins.
        vec![own, self.of_plugins.clone()]
    }
}

impl Resolver for SystemResolver {
    fn resolve(&self, asker: Asker<'_>, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let (turns, lookup, host) = (self.turns(asker), self.lookup.clone(), host.to_owned());
        Box::pin(async move {
            let looked_up = async move {
                let mut held = Vec::with_capacity(turns.len());
                for turns in turns {
                    held.push(turns.acquire_owned().await.expect("nobody closes it"));
                }
                let lookup = tokio::task::spawn_blocking(move || {
                    let found = lookup(&host);
                    // The permits end with the lookup, even if no caller waits for the lookup any more.
                    drop(held);
                    found
                });
                lookup.await.map_err(io::Error::other)?
            };
            let late = || {
                let seconds = LOOKUP_TIME_MAX.as_secs();
                io::Error::new(ErrorKind::TimedOut, format!("no answer within {seconds} s"))
            };
            timeout(LOOKUP_TIME_MAX, looked_up).await.unwrap_or_else(|_| Err(late()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Condvar;
    use tokio::task::JoinHandle;

    /// A resolver whose lookups of `dead` and of names that begin with it end when the test releases them. It counts
    /// the current ones.
    #[derive(Clone, Default)]
    struct Names(Arc<(Mutex<(bool, usize)>, Condvar)>);

    impl Names {
        fn resolver(&self) -> SystemResolver {
            let names = self.clone();
            SystemResolver::with(Arc::new(move |host| {
                if host.starts_with("dead") {
                    let (state, changed) = &*names.0;
                    let mut state = state.lock();
                    state.1 += 1;
                    changed.wait_while(&mut state, |(is_over, _)| !*is_over);
                }
                Ok(vec![IpAddr::from([192, 0, 2, 1])])
            }))
        }

        /// Waits until this number of lookups is running.
        async fn under_way(&self, expect: usize) {
            while self.0.0.lock().1 < expect {
                tokio::task::yield_now().await;
            }
            assert_eq!(self.0.0.lock().1, expect);
        }
    }

    /// Releases the lookups, so that no thread stays behind if a test fails.
    impl Drop for Names {
        fn drop(&mut self) {
            self.0.0.lock().0 = true;
            self.0.1.notify_all();
        }
    }

    type Found = io::Result<Vec<IpAddr>>;

    fn begin(resolver: &SystemResolver, asker: Asker<'_>, host: &str) -> JoinHandle<Found> {
        tokio::spawn(resolver.resolve(asker, host))
    }

    #[tokio::test]
    async fn the_system_knows_this_machine() {
        let resolver = SystemResolver::default();
        for asker in [Asker::Plugin("a"), Asker::Host] {
            let found = resolver.resolve(asker, "localhost").await.expect("it is known");
            assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
        }
    }

    #[tokio::test]
    async fn names_without_an_answer_hold_up_the_plugin_that_asks_for_them_and_nobody_else() {
        let names = Names::default();
        let resolver = names.resolver();
        let dead: Vec<_> = (0..=OF_PLUGIN_MAX)
            .map(|_| begin(&resolver, Asker::Plugin("a"), "dead.test"))
            .collect();
        names.under_way(OF_PLUGIN_MAX).await;
        let late = begin(&resolver, Asker::Plugin("a"), "live.test");
        for asker in [Asker::Plugin("b"), Asker::Host] {
            let found = resolver.resolve(asker, "live.test").await.expect("it is known");
            assert_eq!(found.len(), 1);
        }
        assert!(!late.is_finished() && dead.iter().all(|lookup| !lookup.is_finished()));
        names.under_way(OF_PLUGIN_MAX).await;
        drop(names);
        for lookup in dead.into_iter().chain([late]) {
            assert!(lookup.await.expect("it ends").is_ok());
        }
    }

    #[tokio::test]
    async fn so_many_names_are_looked_up_at_once() {
        let names = Names::default();
        let resolver = names.resolver();
        let all = LOOKUPS_MAX as u32;
        let taken = resolver.of_plugins.clone().acquire_many_owned(all).await.expect("it is open");
        let lookup = begin(&resolver, Asker::Plugin("a"), "live.test");
        assert!(resolver.resolve(Asker::Host, "live.test").await.is_ok(), "it has its own");
        assert!(!lookup.is_finished(), "it waits for its turn");
        drop(taken);
        lookup.await.expect("it ends").expect("it is known");
        assert_eq!(resolver.of_plugin.lock().len(), 1);
        resolver.resolve(Asker::Plugin("b"), "live.test").await.expect("it is known");
        assert_eq!(resolver.of_plugin.lock().len(), 1, "who looks nothing up is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_without_an_answer_is_given_up_in_time_and_its_thread_is_counted_still() {
        let names = Names::default();
        let resolver = names.resolver();
        let lookups: Vec<_> = (0..=OF_PLUGIN_MAX)
            .map(|_| begin(&resolver, Asker::Plugin("a"), "dead.test"))
            .collect();
        names.under_way(OF_PLUGIN_MAX).await;
        tokio::time::advance(LOOKUP_TIME_MAX + Duration::from_millis(10)).await;
        for lookup in lookups {
            let error = lookup.await.expect("it ends").expect_err("nobody answers");
            assert_eq!(error.to_string(), "no answer within 5 s");
        }
        let own = resolver.turns(Asker::Plugin("a"));
        assert_eq!(own[0].available_permits(), 0, "the lookups are under way");
    }
}
