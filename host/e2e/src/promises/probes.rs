//! Requests of `/livez`, one after the other on each address of a host, on threads of their own.

use crate::host::Host;
use crate::http;
use anyhow::Context;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between an answer and the next request.
const EVERY: Duration = Duration::from_millis(50);

/// Requests it for as long as there is this.
pub(super) struct Probes {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<anyhow::Result<Vec<Duration>>>>,
}

impl Probes {
    pub(super) fn begin(host: &Host) -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let addresses = [Some(host.address()), host.metrics_address()].into_iter().flatten();
        let threads = addresses.map(|address| {
            let is_over = is_over.clone();
            std::thread::spawn(move || probe(address, &is_over))
        });
        Self { threads: threads.collect(), is_over }
    }

    /// The time of each answer. An error where there was none, or another than `ok`.
    pub(super) fn end(&mut self) -> anyhow::Result<Vec<Duration>> {
        self.is_over.store(true, Ordering::Relaxed);
        let mut times = Vec::new();
        for thread in self.threads.drain(..) {
            let probed = thread.join();
            times.extend(probed.map_err(|_| anyhow::anyhow!("a thread of probes panicked"))??);
        }
        Ok(times)
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn probe(address: SocketAddr, is_over: &AtomicBool) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let answer = http::get(address, "/livez")
            .with_context(|| format!("/livez of {address}, after {:?}", asked.elapsed()))?;
        anyhow::ensure!(answer.status == 200, "/livez of {address} answered {answer:?}");
        times.push(asked.elapsed());
        std::thread::park_timeout(EVERY);
    }
    Ok(times)
}
