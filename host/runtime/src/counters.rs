//! Plain counters of one plugin's name. They outlive reloads; the program makes metrics of them.

use crate::account::Ledger;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Resources of writes that are counted apart for one plugin: a series each on the page of metrics.
const WRITTEN_RESOURCES_MAX: usize = 64;
/// All others.
pub(crate) const OTHER_RESOURCES: &str = "other";

/// A write to the cluster: its verb, its resource with its subresource, and what became of it.
pub type ClusterWrite = (&'static str, Box<str>, &'static str);

/// What happened to a plugin's events and instances so far.
#[derive(Debug, Default)]
pub struct Counters {
    /// Events that the guest took.
    pub ok: AtomicU64,
    /// Attempts that failed and were put back.
    pub retry: AtomicU64,
    /// Events given up on.
    pub dead: AtomicU64,
    /// Changes within the plugin's views that its subscriptions did not want. Of a type that one does not want, what a field
    /// selector says is not looked at.
    pub filtered: AtomicU64,
    /// Evaluations of a subscription's filter that failed; the event was told.
    pub filter_errors: AtomicU64,
    /// Events of subscriptions that a new version no longer has.
    pub dropped: AtomicU64,
    /// Keys that the guest was done with.
    pub keys_ok: AtomicU64,
    /// Keys that failed and were put back.
    pub keys_retry: AtomicU64,
    /// Keys given up on, until somebody adds them again.
    pub keys_dead: AtomicU64,
    /// Keys of `enqueue` rules that were too long, and keys of a plugin whose new version works on none.
    pub keys_dropped: AtomicU64,
    /// Moments of schedules that the guest took.
    pub firings_ok: AtomicU64,
    /// Calls for them that failed and were to come again.
    pub firings_retry: AtomicU64,
    /// Moments given up on.
    pub firings_dead: AtomicU64,
    /// Events that became keys.
    pub enqueued: AtomicU64,
    /// Log lines that were over the limit.
    pub log_lines_dropped: AtomicU64,
    /// Successful loads after the first.
    pub reloads_ok: AtomicU64,
    /// Versions that were to take over from one that runs, and could not.
    pub reloads_failed: AtomicU64,
    /// How often the breaker opened.
    pub trips: AtomicU64,
    /// Dead letters that are not kept any more, because there were too many.
    pub dead_letters_dropped: AtomicU64,
    /// Time that calls of host functions took by the clock, in nanoseconds, without handing over what they take and give.
    pub host_call_nanoseconds: AtomicU64,
    /// Kubernetes Events that the plugin recorded and that were written, as new ones or as more of a series.
    pub events_written: AtomicU64,
    /// Those that were not: too many, or refused.
    pub events_dropped: AtomicU64,
    /// Time that the plugin waited for answers to its writes.
    pub cluster_write_seconds: Histogram,
    /// Time that the plugin waited for answers to its requests over HTTP, their redirects and turns included.
    pub http_request_seconds: Histogram,
    /// Time in `handle`.
    pub handle_seconds: Histogram,
    /// Time in `reconcile`.
    pub reconcile_seconds: Histogram,
    /// Time in `fire`.
    pub fire_seconds: Histogram,
    /// Time from the read of the bytes to the end of `handle`, of events told for the first time.
    pub event_latency_seconds: Histogram,
    /// What is noted of the plugin's account.
    pub(crate) ledger: Arc<Ledger>,
    restarts: parking_lot::Mutex<BTreeMap<&'static str, u64>>,
    cluster_writes: parking_lot::Mutex<BTreeMap<ClusterWrite, u64>>,
    http_requests: parking_lot::Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    last_filter_error: parking_lot::Mutex<Option<String>>,
}

impl Counters {
    /// Counts an instance that ended, by cause: `trap`, `deadline`, `memory`, `account`.
    pub(crate) fn restart(&self, cause: &'static str) {
        *self.restarts.lock().entry(cause).or_default() += 1;
    }

    /// Counts a filter that could not say anything, and why.
    pub(crate) fn filter_failed(&self, error: String) {
        add_one(&self.filter_errors);
        *self.last_filter_error.lock() = Some(error);
    }

    /// The subscription whose filter failed last, and why.
    pub fn last_filter_error(&self) -> Option<String> {
        self.last_filter_error.lock().clone()
    }

    /// Counts a write to the cluster by its verb, its resource and what became of it. The resource is the plugin's word.
    pub(crate) fn cluster_write(&self, verb: &'static str, resource: &str, result: &'static str) {
        let mut writes = self.cluster_writes.lock();
        let resources = || writes.keys().map(|(_, known, _)| &**known);
        let is_counted = resources().any(|known| known == resource)
            || resources().collect::<BTreeSet<_>>().len() < WRITTEN_RESOURCES_MAX;
        let resource = if is_counted { resource } else { OTHER_RESOURCES };
        *writes.entry((verb, resource.into(), result)).or_default() += 1;
    }

    /// Writes to the cluster that the plugin wanted to make, by verb, by resource (`other` for what cannot be written, and for all but 64) and by what
    /// became of each: `ok`, `conflict`, `throttled`, `refused` by the
    /// API server, `unknown`, `unsent` because its time was over before its turn came, `not-granted`, `not-leader`, `invalid`.
    pub fn cluster_writes(&self) -> BTreeMap<ClusterWrite, u64> {
        self.cluster_writes.lock().clone()
    }

    /// Counts a request over HTTP by its method and what became of it.
    pub(crate) fn http_request(&self, method: &'static str, result: &'static str) {
        *self.http_requests.lock().entry((method, result)).or_default() += 1;
    }

    /// Requests over HTTP that the plugin wanted to make, by method (`other` for what is none) and by what became of each: `ok`, `redirect`,
    /// `client-error`, `server-error` as the status says, `too-large`, `timed-out`, `unsent`, `unknown`, `not-granted` (a dry run, too), `not-leader`,
    /// `invalid`.
    pub fn http_requests(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        self.http_requests.lock().clone()
    }

    /// How many instances ended so far, by cause.
    pub fn restarts(&self) -> BTreeMap<&'static str, u64> {
        self.restarts.lock().clone()
    }
}

pub(crate) fn add_one(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// Upper bounds of the histograms' buckets in seconds: 10 µs to 10 s, three to a decade.
pub const BUCKETS: [f64; 19] = [
    1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5,
    1.0, 2.5, 5.0, 10.0,
];

/// A histogram that costs two additions an observation. The sum and the buckets up to 1 ms are in one line of a processor's cache: of a hundred plugins
/// none finds its own still there, and each line is a wait.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Histogram {
    sum_nanoseconds: AtomicU64,
    counts: [AtomicU64; BUCKETS.len() + 1],
}

impl Histogram {
    pub(crate) fn observe(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BUCKETS.partition_point(|bound| *bound < seconds);
        self.counts[bucket].fetch_add(1, Relaxed);
        self.sum_nanoseconds.fetch_add(duration.as_nanos() as u64, Relaxed);
    }

    /// Observations in each bucket, not cumulative; the last one is for what is above all bounds.
    pub fn counts(&self) -> Vec<u64> {
        self.counts.iter().map(|count| count.load(Relaxed)).collect()
    }

    /// The sum of all observations in seconds.
    pub fn sum(&self) -> f64 {
        self.sum_nanoseconds.load(Relaxed) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_counted_apart_for_as_many_resources_as_have_a_place() {
        let counters = Counters::default();
        for number in 0..2 * WRITTEN_RESOURCES_MAX {
            counters.cluster_write("patch", &format!("v1/things{number}"), "not-granted");
        }
        counters.cluster_write("patch", "v1/things0", "not-granted");
        let writes = counters.cluster_writes();
        let of = |resource: &str| writes[&("patch", resource.into(), "not-granted")];
        assert_eq!((of("v1/things0"), of(OTHER_RESOURCES)), (2, WRITTEN_RESOURCES_MAX as u64));
        assert_eq!(writes.len(), WRITTEN_RESOURCES_MAX + 1);
    }
}
