//! The good plugin: what it was told, held against what was written, and when.

use super::LOOK;
use super::ground::Ground;
use crate::host::Host;
use crate::poll;
use crate::soak::traffic::Written;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The good plugin is told of a change by then, whatever its neighbours do.
const DELIVERY_MAX: Duration = Duration::from_secs(5);

pub(super) struct Good {
    written: Written,
    told: BTreeMap<u64, Timestamp>,
    twice: u64,
}

impl Good {
    pub(super) fn new(written: Written) -> Self {
        Self { written, told: BTreeMap::new(), twice: 0 }
    }

    /// Reads what the host wrote, and complains of what should have come by now.
    pub(super) fn read(&mut self, host: &Host, ground: &Ground) {
        let looked = Timestamp::now();
        for line in host.take_lines() {
            if line.is_panic() {
                ground.complain(format!("the host has panicked: {}", line.text));
            }
            let of_good = line.field("plugin") == Some("good");
            let version = line.message().strip_prefix("told ").filter(|_| of_good);
            let at = line.field("timestamp").and_then(|at| at.parse().ok());
            if let (Some(Ok(version)), Some(at)) = (version.map(str::parse), at)
                && self.told.insert(version, at).is_some()
            {
                self.twice += 1;
            }
        }
        if let Some((version, late)) = self.missing(looked)
            && late > DELIVERY_MAX
            && !ground.is_stopped()
        {
            ground.complain(format!("after {late:?} the good plugin has not heard of {version}"));
        }
    }

    /// Waits until it has heard of everything.
    pub(super) async fn catch_up(&mut self, host: &Host, ground: &Ground) {
        let began = Instant::now();
        while self.missing(Timestamp::now()).is_some() && began.elapsed() < DELIVERY_MAX {
            self.read(host, ground);
            poll::pause(LOOK).await;
        }
    }

    /// The oldest change that it has not heard of, and how old that is.
    fn missing(&self, now: Timestamp) -> Option<(u64, Duration)> {
        let written = self.written.lock();
        let mut missing = written.iter().filter(|(version, _)| !self.told.contains_key(version));
        let (version, at) = missing.find_map(|(version, at)| Some((*version, (*at)?)))?;
        Some((version, now.duration_since(at).try_into().unwrap_or_default()))
    }

    /// What it was told in all.
    pub(super) fn conclude(&self, ground: &Ground) {
        let written = self.written.lock();
        let late = written.iter().filter_map(|(version, written)| {
            let late = self.told.get(version)?.duration_since((*written)?);
            Some(late.try_into().unwrap_or_default())
        });
        let mut late: Vec<Duration> = late.collect();
        late.sort_unstable();
        let (told, written) = (self.told.len(), written.len());
        if told != written || self.twice > 0 {
            let twice = self.twice;
            ground.complain(format!(
                "the good plugin heard of {told} changes of {written}, and of {twice} twice"
            ));
        }
        ground.report().delivered = late;
    }
}
