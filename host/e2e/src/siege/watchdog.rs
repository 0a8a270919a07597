//! Looks at the host from outside, on threads of its own: whether it lives and answers probes, and what it takes.

use super::ground::{Ground, Sample};
use crate::host::Host;
use crate::stalls::Stalls;
use crate::{http, process_stats};
use anyhow::Context;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two probes, and between two looks at the process.
const PROBE_EVERY: Duration = Duration::from_millis(50);
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// What the kubelet waits for a probe unless it is told otherwise.
const PROBE_MAX: Duration = Duration::from_secs(1);
/// The host's growth while plugins of others run in it, come and go: their memories.
const MEMORIES_BYTES_MAX: u64 = 256 << 20;
/// A file is in the host up to three times: as its bytes, as code with its data, and in the memory that the data begin in.
const TIMES_OF_A_FILE: u64 = 3;
/// What a child that looks at a file may take: the default of `--compile-memory`, and the program itself.
const CHILD_BYTES_MAX: u64 = 900 << 20;
/// Of the async runtimes, of guests, of what waits for disks and pages of metrics.
const THREADS_MAX: u64 = 100;
/// Connections of both ports and what the host has open beside them.
const FILES_MAX: u64 = 600;

pub(super) struct Watchdog {
    threads: Vec<JoinHandle<()>>,
    over: Arc<AtomicBool>,
}

impl Watchdog {
    /// Of this host, which took so many bytes before.
    pub(super) fn start(host: &Host, before: u64, ground: &Arc<Ground>) -> anyhow::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let metrics = host.metrics_address().context("it has an address for probes")?;
        let (mut threads, stalls) = (Vec::new(), Arc::new(Stalls::begin()));
        for address in [metrics, host.address()] {
            let of = if address == metrics { "metrics-bind-address" } else { "listen" };
            let (over, ground, stalls) = (over.clone(), ground.clone(), stalls.clone());
            threads.push(std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) && probe(of, address, &stalls, &ground) {
                    std::thread::park_timeout(PROBE_EVERY);
                }
            }));
        }
        let (id, ground, is_over) = (host.id(), ground.clone(), over.clone());
        threads.push(std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) && look(id, before, &ground) {
                std::thread::park_timeout(LOOK_EVERY);
            }
        }));
        Ok(Self { threads, over })
    }

    pub(super) fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.thread().unpark();
            // One that has panicked has said so.
            let _ = thread.join();
        }
    }
}

/// False if there is no use in going on. An answer may be late by as long as the machine has stalled. The crowd of connections that the siege itself makes
/// may push one probe out (`host/docs/http-api.md`), but not two in a row: the kubelet gives up after three.
fn probe(of: &str, address: SocketAddr, stalls: &Stalls, ground: &Ground) -> bool {
    let asked = Instant::now();
    let answer = http::get(address, "/livez").or_else(|_| http::get(address, "/livez"));
    let took = asked.elapsed();
    ground.report().probes.push(took);
    match answer {
        Ok(answer) if answer.status == 200 && took <= PROBE_MAX => true,
        Ok(answer) if answer.status == 200 && took <= PROBE_MAX + stalls.since(asked) => true,
        Ok(answer) => {
            let text = answer.body.trim();
            ground.complain(format!("/livez of --{of} took {took:?}: {} {text}", answer.status));
            false
        }
        Err(error) => {
            ground.complain(format!("/livez of --{of} failed after {took:?}: {error:#}"));
            false
        }
    }
}

fn look(id: u32, before: u64, ground: &Ground) -> bool {
    let sample = match sample(id) {
        Ok(sample) => sample,
        Err(error) => {
            ground.complain(format!("the host is gone: {error:#}"));
            return false;
        }
    };
    ground.report().curve.push(sample);
    let more_max = MEMORIES_BYTES_MAX + TIMES_OF_A_FILE * ground.bytes_of_late();
    let bounds = [
        ("resident bytes more than before", sample.host.saturating_sub(before), more_max),
        ("resident bytes of a child", sample.child, CHILD_BYTES_MAX),
        ("threads", sample.threads, THREADS_MAX),
        ("open files", sample.files, FILES_MAX),
    ];
    for (what, found, most) in bounds {
        if found > most {
            ground.complain(format!("the host has {found} {what}, and {most} are its bound"));
            return false;
        }
    }
    true
}

fn sample(id: u32) -> anyhow::Result<Sample> {
    let children = process_stats::children(id)?.into_iter();
    // One that has ended meanwhile takes nothing.
    let child = children.map(|child| process_stats::resident(child).unwrap_or_default()).max();
    Ok(Sample {
        host: process_stats::resident(id)?,
        child: child.unwrap_or_default(),
        threads: process_stats::threads(id)?,
        files: process_stats::open_files(id)?,
    })
}
