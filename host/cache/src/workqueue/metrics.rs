//! The metrics of a queue, by client-go's names (`util/workqueue/metrics.go`).
//!
//! Plain numbers, computed on request: no registry, and no goroutine that refreshes gauges. A program passes them to
//! its own metrics library.

use super::lanes::Lane;
use std::time::Duration;

/// Upper bounds of the histograms' buckets in seconds: client-go's, from 10 ns, ten times wider each.
pub(super) const BUCKETS: [f64; 10] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];

/// A histogram of durations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The number of durations up to each of [`Histogram::bounds`] and above the bound before.
    counts: [u64; BUCKETS.len()],
    count: u64,
    sum: Duration,
}

impl Histogram {
    /// Upper bounds of the buckets, in seconds.
    pub fn bounds() -> &'static [f64] {
        &BUCKETS
    }

    /// Each bound in seconds with the number of durations up to it, as Prometheus counts: cumulative, without `+Inf`.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        BUCKETS.iter().zip(&self.counts).scan(0, |sum, (bound, count)| {
            *sum += count;
            Some((*bound, *sum))
        })
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of the durations.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    pub(super) fn observe(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        if let Some(bucket) = BUCKETS.iter().position(|bound| seconds <= *bound) {
            self.counts[bucket] += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(duration);
    }
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) adds_total: u64,
    pub(super) retries_total: u64,
    pub(super) queue_duration: Histogram,
    pub(super) work_duration: Histogram,
}

/// A queue at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkQueueMetrics {
    /// The queue's name.
    pub name: Box<str>,
    /// Keys that can be handed out, in the order of [`Lane::ALL`].
    pub depth: [usize; 2],
    /// Delayed keys.
    pub delayed: usize,
    /// Keys in work.
    pub working: usize,
    /// Adds of keys that were not waiting already.
    pub adds_total: u64,
    /// Adds that were delayed or rate-limited.
    pub retries_total: u64,
    /// From the add of a key to its hand-out.
    pub queue_duration: Histogram,
    /// From the hand-out to `done`.
    pub work_duration: Histogram,
    /// The sum of the times of all keys in work.
    pub unfinished_work: Duration,
    /// The longest of them.
    pub longest_running_processor: Duration,
}

/// The receiver of metrics in a program. Each call is one sample, labelled `name="<queue>"`.
pub trait MetricsSink {
    /// A value that goes up and down. `workqueue_depth` comes once for each lane, labelled `priority="<lane>"` as
    /// well.
    fn gauge(&mut self, metric: &'static str, queue: &str, lane: Option<Lane>, value: f64);
    /// A value that only rises.
    fn counter(&mut self, metric: &'static str, queue: &str, value: u64);
    /// Durations in seconds.
    fn histogram(&mut self, metric: &'static str, queue: &str, value: &Histogram);
}

impl WorkQueueMetrics {
    /// Keys that can be handed out, of both lanes.
    pub fn depth_total(&self) -> usize {
        self.depth.iter().sum()
    }

    /// Passes all metrics to the sink under client-go's names.
    pub fn export(&self, sink: &mut dyn MetricsSink) {
        let name = &*self.name;
        for (lane, depth) in Lane::ALL.into_iter().zip(self.depth) {
            sink.gauge("workqueue_depth", name, Some(lane), depth as f64);
        }
        sink.counter("workqueue_adds_total", name, self.adds_total);
        sink.histogram("workqueue_queue_duration_seconds", name, &self.queue_duration);
        sink.histogram("workqueue_work_duration_seconds", name, &self.work_duration);
        let unfinished = self.unfinished_work.as_secs_f64();
        sink.gauge("workqueue_unfinished_work_seconds", name, None, unfinished);
        let longest = self.longest_running_processor.as_secs_f64();
        sink.gauge("workqueue_longest_running_processor_seconds", name, None, longest);
        sink.counter("workqueue_retries_total", name, self.retries_total);
    }
}
