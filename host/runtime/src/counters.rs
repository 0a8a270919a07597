//! Plain counters of one plugin's name. They outlive reloads; the program exports them as metrics.

use crate::account::Ledger;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The most resources of writes that are counted separately for one plugin: each is a series on the page of metrics.
const WRITTEN_RESOURCES_MAX: usize = 64;
/// All other resources.
pub(crate) const OTHER_RESOURCES: &str = "other";

/// A write to the cluster: its verb, its resource with its subresource, and its result.
pub type ClusterWrite = (&'static str, Box<str>, &'static str);

/// The counts of a plugin's events, calls and instances. Those of handled events change under the lock of the plugin's
/// queue: an addition in one step of several processors would wait for its cache line, and each is in another.
#[derive(Debug, Default)]
pub struct Counters {
    /// Events that the guest handled. Changes under the queue's lock.
    pub ok: AtomicU64,
    /// Attempts that failed and come again.
    pub retry: AtomicU64,
    /// Events that were given up.
    pub dead: AtomicU64,
    /// Changes within the plugin's views that its subscriptions did not want. Changes of an unwanted type count
    /// without a check of the field selector. Those that an informer refuses for many plugins at once come here when
    /// the subscription ends; `PluginStatus` has all.
    pub filtered: AtomicU64,
    /// Evaluations of a filter that failed; the event was delivered.
    pub filter_errors: AtomicU64,
    /// Events of subscriptions that a new version no longer has.
    pub dropped: AtomicU64,
    /// Keys that the guest reconciled.
    pub keys_ok: AtomicU64,
    /// Keys that failed and come again.
    pub keys_retry: AtomicU64,
    /// Keys that were given up, until a caller adds them again.
    pub keys_dead: AtomicU64,
    /// Keys of `enqueue` rules that were too long, and keys of a plugin whose new version reconciles none.
    pub keys_dropped: AtomicU64,
    /// Firings that the guest handled.
    pub firings_ok: AtomicU64,
    /// Firings that failed and come again.
    pub firings_retry: AtomicU64,
    /// Firings that were given up.
    pub firings_dead: AtomicU64,
    /// Events that became keys.
    pub enqueued: AtomicU64,
    /// Log lines above the limit.
    pub log_lines_dropped: AtomicU64,
    /// Successful loads after the first.
    pub reloads_ok: AtomicU64,
    /// Versions that could not take over from a running one.
    pub reloads_failed: AtomicU64,
    /// How often the breaker opened.
    pub trips: AtomicU64,
    /// Dead letters that were dropped because there were too many.
    pub dead_letters_dropped: AtomicU64,
    /// Time of host functions by the clock, in nanoseconds, without the conversion of arguments and results.
    pub host_call_nanoseconds: AtomicU64,
    /// Recorded Kubernetes Events that were written, as new ones or in a series.
    pub events_written: AtomicU64,
    /// Recorded Kubernetes Events that were not written: too many, or refused.
    pub events_dropped: AtomicU64,
    /// Time that the plugin waited for answers to its writes.
    pub cluster_write_seconds: RareHistogram,
    /// Time that the plugin waited for answers to its HTTP requests, with redirects and turns.
    pub http_request_seconds: RareHistogram,
    /// Time in `handle`. Changes under the queue's lock.
    pub handle_seconds: Histogram,
    /// Time in `reconcile`.
    pub reconcile_seconds: RareHistogram,
    /// Time in `fire`.
    pub fire_seconds: RareHistogram,
    /// Time from the read of the bytes to the end of `handle`, of first deliveries. Changes under the
    /// queue's lock.
    pub event_latency_seconds: Histogram,
    /// The ledger of the plugin's account.
    pub(crate) ledger: Arc<Ledger>,
    restarts: parking_lot::Mutex<BTreeMap<&'static str, u64>>,
    cluster_writes: parking_lot::Mutex<BTreeMap<ClusterWrite, u64>>,
    http_requests: parking_lot::Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    last_filter_error: parking_lot::Mutex<Option<String>>,
}

impl Counters {
    /// Counts an event that the guest handled, with the time of the call and the event's latency. The caller holds the
    /// lock of the plugin's queue.
    pub(crate) fn handled(&self, took: Duration, latency: Option<Duration>) {
        self.ok.store(self.ok.load(Relaxed) + 1, Relaxed);
        self.called(took);
        if let Some(latency) = latency {
            self.event_latency_seconds.observe_alone(latency);
        }
    }

    /// Counts a call of `handle`. The caller holds the lock of the plugin's queue.
    pub(crate) fn called(&self, took: Duration) {
        self.handle_seconds.observe_alone(took);
    }

    /// Counts an instance that ended, by cause: `trap`, `deadline`, `memory`, `account`.
    pub(crate) fn restart(&self, cause: &'static str) {
        *self.restarts.lock().entry(cause).or_default() += 1;
    }

    /// Counts a failed evaluation of a filter, with its error.
    pub(crate) fn filter_failed(&self, error: String) {
        add_one(&self.filter_errors);
        *self.last_filter_error.lock() = Some(error);
    }

    /// The subscription whose filter failed last, and the error.
    pub fn last_filter_error(&self) -> Option<String> {
        self.last_filter_error.lock().clone()
    }

    /// Counts a write to the cluster by its verb, its resource and its result. The resource is the plugin's unchecked
    /// text.
    pub(crate) fn cluster_write(&self, verb: &'static str, resource: &str, result: &'static str) {
        let mut writes = self.cluster_writes.lock();
        let resources = || writes.keys().map(|(_, known, _)| &**known);
        let is_counted = resources().any(|known| known == resource)
            || resources().collect::<BTreeSet<_>>().len() < WRITTEN_RESOURCES_MAX;
        let resource = if is_counted { resource } else { OTHER_RESOURCES };
        *writes.entry((verb, resource.into(), result)).or_default() += 1;
    }

    /// Writes to the cluster that the plugin requested, by verb, by resource and by result. The resource is `other` if
    /// it cannot be written, and beyond 64 resources. The results are `ok`, `conflict`, `throttled`, `refused` by the
    /// API server, `unknown` without a whole answer, `unsent` (no connection, no time, no memory, no cluster, or two
    /// users), `not-granted`, `not-leader`, `invalid`.
    pub fn cluster_writes(&self) -> BTreeMap<ClusterWrite, u64> {
        self.cluster_writes.lock().clone()
    }

    /// Counts an HTTP request by its method and result.
    pub(crate) fn http_request(&self, method: &'static str, result: &'static str) {
        *self.http_requests.lock().entry((method, result)).or_default() += 1;
    }

    /// HTTP requests of the plugin, by method (`other` for an unknown one) and by result: `ok`, `redirect`,
    /// `client-error`, `server-error` by status, `too-large`, `timed-out`, `unsent`, `unknown`, `not-granted` (also in
    /// a dry run), `not-leader`, `invalid`.
    pub fn http_requests(&self) -> BTreeMap<(&'static str, &'static str), u64> {
        self.http_requests.lock().clone()
    }

    /// The number of ended instances, by cause.
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

/// A histogram that costs two additions for each observation. The sum and the buckets up to 1 ms are in one cache
/// line. With a hundred plugins no line stays cached, and each line is a wait.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Histogram {
    sum_nanoseconds: AtomicU64,
    counts: [AtomicU64; BUCKETS.len() + 1],
}

impl Histogram {
    pub(crate) fn observe(&self, duration: Duration) {
        self.bucket(duration).fetch_add(1, Relaxed);
        self.sum_nanoseconds.fetch_add(duration.as_nanos() as u64, Relaxed);
    }

    /// The same for a caller that holds a lock, without which nothing is observed.
    fn observe_alone(&self, duration: Duration) {
        let add = |to: &AtomicU64, more: u64| to.store(to.load(Relaxed) + more, Relaxed);
        add(self.bucket(duration), 1);
        add(&self.sum_nanoseconds, duration.as_nanos() as u64);
    }

    fn bucket(&self, duration: Duration) -> &AtomicU64 {
        let seconds = duration.as_secs_f64();
        &self.counts[BUCKETS.partition_point(|bound| *bound < seconds)]
    }

    /// Observations in each bucket, not cumulative; the last bucket is above all bounds.
    pub fn counts(&self) -> Vec<u64> {
        self.counts.iter().map(|count| count.load(Relaxed)).collect()
    }

    /// A pair for each bucket: its upper bound in seconds, null above all bounds, and the number of its observations.
    pub(crate) fn to_json(&self) -> Value {
        let bounds = BUCKETS.iter().map(|bound| Some(*bound)).chain([None]);
        bounds.zip(self.counts()).map(|(bound, count)| json!([bound, count])).collect()
    }

    /// The sum of all observations in seconds.
    pub fn sum(&self) -> f64 {
        self.sum_nanoseconds.load(Relaxed) as f64 / 1e9
    }
}

/// A histogram of calls that most plugins never make: memory is allocated with the first observation. Read as
/// [`Histogram`].
#[derive(Debug, Default)]
pub struct RareHistogram(OnceLock<Box<Histogram>>);

impl RareHistogram {
    pub(crate) fn observe(&self, duration: Duration) {
        self.0.get_or_init(Box::default).observe(duration);
    }
}

impl Deref for RareHistogram {
    type Target = Histogram;

    fn deref(&self) -> &Histogram {
        // All plugins share it, so nothing may be added to it: `RareHistogram::observe` is the way to add.
        static NOTHING: Histogram = Histogram {
            sum_nanoseconds: AtomicU64::new(0),
            counts: [const { AtomicU64::new(0) }; BUCKETS.len() + 1],
        };
        self.0.get().map_or(&NOTHING, |histogram| histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_histogram_has_no_memory_until_it_is_used() {
        let [used, other] = [0; 2].map(|_| RareHistogram::default());
        used.observe(Duration::from_millis(3));
        assert_eq!((used.counts()[8], used.sum()), (1, 0.003));
        assert_eq!((other.counts(), other.sum()), (vec![0; BUCKETS.len() + 1], 0.0));
        assert!(other.0.get().is_none());
    }

    #[test]
    fn a_histogram_shows_its_buckets() {
        let histogram = Histogram::default();
        for milliseconds in [0, 3, 4, 70_000] {
            histogram.observe(Duration::from_millis(milliseconds));
        }
        let json = histogram.to_json();
        assert_eq!(json.as_array().map(Vec::len), Some(BUCKETS.len() + 1));
        let of = |bucket: usize| json[bucket].clone();
        assert_eq!([of(0), of(8), of(19)], [json!([1e-5, 1]), json!([5e-3, 2]), json!([null, 1])]);
    }

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
