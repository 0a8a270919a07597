//! From names to addresses, as the system does it.

use futures::future::BoxFuture;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Lookups at once. Nobody can end one, and each holds a thread for as long as the system's resolver tries.
const LOOKUPS_MAX: usize = 16;

/// Finds a name's addresses. A seam: tests say what a name leads to, and that it leads elsewhere the next time.
pub(super) trait Resolver: Send + Sync + 'static {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's own.
pub(super) struct SystemResolver {
    lookups: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(LOOKUPS_MAX)) }
    }
}

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let (lookups, host) = (self.lookups.clone(), host.to_owned());
        Box::pin(async move {
            let turn = lookups.acquire_owned().await.expect("nobody closes it");
            let lookup = tokio::task::spawn_blocking(move || {
                let found = (host.as_str(), 0).to_socket_addrs();
                let found = found.map(|found| found.map(|address| address.ip()).collect());
                // It ends with the lookup, whether anybody still waits for that or not.
                drop(turn);
                found
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_system_knows_this_machine() {
        let found = SystemResolver::default().resolve("localhost").await.expect("it is known");
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    }

    #[tokio::test]
    async fn so_many_names_are_looked_up_at_once() {
        let resolver = SystemResolver::default();
        let all = LOOKUPS_MAX as u32;
        let taken = resolver.lookups.clone().acquire_many_owned(all).await.expect("it is open");
        let lookup = resolver.resolve("localhost");
        let lookup = tokio::spawn(lookup);
        tokio::task::yield_now().await;
        assert!(!lookup.is_finished(), "it waits for its turn");
        drop(taken);
        lookup.await.expect("it ends").expect("it is known");
    }
}
