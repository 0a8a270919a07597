//! Kubernetes Events that plugins record about objects. No plugin waits for them: they go through a bounded queue
//! (`waiting.rs`) to one task, which writes them in sequence. As in client-go's `tools/events`, repeated occurrences
//! are a series of one Event (`series.rs`).
//!
//! The task does not retry an Event that the API server refuses. Counts of a series that are not written when the host
//! ends are lost. An Event that was granted when it was recorded is written, even if the grant is gone by then.

mod series;
mod waiting;

use crate::counters::{Counters, add_one};
use crate::log_budget::{HostLine, LogBudget};
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::outside::cluster_writer::{WriteError, WriteRequest};
use crate::outside::service_account::ServiceAccount;
use crate::outside::turns::WriteTurns;
use crate::sleep_until::until;
use jiff::Timestamp;
use parking_lot::Mutex;
use series::{EventSeries, EventWrite};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::{debug, warn};
use waiting::WaitingEvents;

/// If an API server does not answer, one Event is lost, not all that follow.
const WRITE_TIME_MAX: Duration = Duration::from_secs(5);
/// The time for the remaining Events when the host ends.
const END_TIME_MAX: Duration = Duration::from_secs(2);
/// The most bytes of an API server's answer to an Event.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// A plugin's Event about an object.
#[derive(Debug, Clone)]
pub(crate) struct Occurrence {
    pub(crate) plugin: String,
    pub(crate) regarding: Regarding,
    pub(crate) is_warning: bool,
    pub(crate) reason: String,
    pub(crate) note: String,
    /// The account that records it; `None`: the host's own user.
    pub(crate) service_account: Option<ServiceAccount>,
    pub(crate) dry_run: bool,
    pub(crate) at: Timestamp,
    /// The counters of the plugin.
    pub(crate) counters: Arc<Counters>,
    /// The log rate of the plugin.
    pub(crate) log_budget: LogBudget,
}

/// An object, as an Event refers to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Regarding {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// Empty: the Event is in `default`.
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

impl Regarding {
    /// The namespace of the Event.
    pub(crate) fn event_namespace(&self) -> &str {
        if self.namespace.is_empty() { "default" } else { &self.namespace }
    }
}

/// The handle to the task. Clones share it.
#[derive(Clone)]
pub(crate) struct EventRecorder {
    waiting: Arc<Mutex<WaitingEvents>>,
    /// Has room for one wake-up, which is enough.
    wake: mpsc::Sender<()>,
}

/// The task that writes Events. Run it until all recorders are dropped.
pub(crate) struct EventTask {
    waiting: Arc<Mutex<WaitingEvents>>,
    woken: mpsc::Receiver<()>,
    cluster: WriteTurns,
    series: EventSeries,
}

impl EventRecorder {
    pub(crate) fn new(cluster: WriteTurns) -> (Self, EventTask) {
        let waiting = Arc::<Mutex<WaitingEvents>>::default();
        let (wake, woken) = mpsc::channel(1);
        let task =
            EventTask { waiting: waiting.clone(), woken, cluster, series: EventSeries::default() };
        (Self { waiting, wake }, task)
    }

    /// Passes the occurrence to the task. If too many wait, one is dropped and counted.
    pub(crate) fn record(&self, occurrence: Occurrence) {
        let dropped = self.waiting.lock().push(occurrence);
        if let Some(dropped) = dropped {
            add_one(&dropped.counters.events_dropped);
        }
        // A full channel means that the task will look anyway.
        let _ = self.wake.try_send(());
    }
}

impl EventTask {
    /// Writes recorded Events until all recorders are dropped, and then the waiting ones.
    pub(crate) async fn run(mut self) {
        loop {
            for recorded in self.series.due(Instant::now()) {
                self.write(recorded).await;
            }
            let next = self.waiting.lock().pop();
            if let Some(occurrence) = next {
                self.record(&occurrence).await;
                continue;
            }
            let due = self.series.next_due();
            tokio::select! {
                woken = self.woken.recv() => if woken.is_none() { return },
                () = until(due) => {}
            }
        }
    }

    async fn record(&mut self, occurrence: &Occurrence) {
        match self.series.record(occurrence, Instant::now()) {
            Ok(Some(recorded)) => self.write(recorded).await,
            // The occurrence counts in its series, which is written from time to time.
            Ok(None) => {}
            Err(_) => add_one(&occurrence.counters.events_dropped),
        }
    }

    async fn write(&mut self, recorded: EventWrite) {
        let EventWrite { key, write, plugin, service_account, dry_run, counters, log_budget } =
            recorded;
        let verb = write.verb().name();
        let request = write.request(&plugin, dry_run, ANSWER_BYTES_MAX);
        let request = WriteRequest { service_account, ..request };
        let uri = request.uri.clone();
        let cluster = self.cluster.clone();
        let written = async { Some(cluster.turn_for_events().await?.write(request).await) };
        let problem = match tokio::time::timeout(WRITE_TIME_MAX, written).await {
            Ok(Some(Ok(_))) if dry_run => {
                let text = format!("dry run: {verb} {uri} would be done");
                return log_budget.tell(&plugin, HostLine::info(&text), Instant::now());
            }
            Ok(Some(Ok(_))) => {
                add_one(&counters.events_written);
                return debug!(plugin, "{verb} {uri}");
            }
            Ok(None | Some(Err(WriteError::NotLeader))) => None,
            Ok(Some(Err(error))) => Some(error.to_string()),
            Err(_) => Some(format!("no answer within {} s", WRITE_TIME_MAX.as_secs())),
        };
        // The next occurrence begins a new Event: this one may be gone, or never have existed.
        self.series.forget(&key);
        add_one(&counters.events_dropped);
        let Some(problem) = problem else {
            // All Events are lost then, and the host ends.
            return debug!(plugin, "{verb} {uri} is not for this host to do any more");
        };
        let problem = one_line(&problem, ERROR_BYTES_MAX);
        let text = format!("a Kubernetes Event could not be written, {verb} {uri}: {problem}");
        log_budget.tell(&plugin, HostLine::warn(&text), Instant::now());
    }
}

/// Waits a short while until the task has written the recorded Events. All recorders must be dropped before.
pub(crate) async fn end(mut task: JoinHandle<()>) {
    match tokio::time::timeout(END_TIME_MAX, &mut task).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => warn!("the writer of Kubernetes Events failed: {error}"),
        Err(_) => {
            task.abort();
            warn!("Kubernetes Events that were still to be written are lost");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_budget::LogRates;
    use crate::outside::cluster_writer::ClusterWriter;
    use crate::outside::leading::Leading;
    use futures::future::BoxFuture;
    use std::sync::atomic::Ordering::Relaxed;

    /// A plugin's occurrence about a pod of this name.
    pub(crate) fn occurrence(plugin: &str, name: &str, note: &str) -> Occurrence {
        let text = str::to_owned;
        let rates = LogRates { lines_per_second: 1, bytes_per_second: 1 };
        Occurrence {
            plugin: text(plugin),
            regarding: Regarding {
                api_version: text("v1"),
                kind: text("Pod"),
                namespace: text("shop"),
                name: text(name),
                uid: text("u"),
            },
            is_warning: false,
            reason: text("Seen"),
            note: text(note),
            service_account: None,
            dry_run: false,
            at: Timestamp::UNIX_EPOCH,
            counters: Arc::default(),
            log_budget: LogBudget::new(rates, Arc::default(), Instant::now()),
        }
    }

    /// Keeps its requests.
    #[derive(Default)]
    struct Cluster {
        asked: Mutex<Vec<String>>,
    }

    impl ClusterWriter for Cluster {
        fn write(&self, request: WriteRequest) -> BoxFuture<'static, Result<Vec<u8>, WriteError>> {
            let body = String::from_utf8(request.body).expect("it is JSON");
            let event: serde_json::Value = serde_json::from_str(&body).expect("it is JSON");
            let note = event["note"].as_str().unwrap_or("a series").to_owned();
            self.asked.lock().push(note);
            Box::pin(std::future::ready(Ok(Vec::new())))
        }
    }

    /// The requests to the cluster after these occurrences, and the numbers of written and dropped ones.
    #[track_caller]
    fn check(leading: Leading, occurrences: &[Occurrence], expect: &[&str], counts: (u64, u64)) {
        let cluster = Arc::new(Cluster::default());
        let (recorder, task) = EventRecorder::new(WriteTurns::new(cluster.clone(), leading));
        for occurrence in occurrences {
            recorder.record(occurrence.clone());
        }
        drop(recorder);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(task.run());
        assert_eq!(*cluster.asked.lock(), expect);
        let sum = |of: fn(&Counters) -> &std::sync::atomic::AtomicU64| {
            occurrences.iter().map(|it| of(&it.counters).load(Relaxed)).sum::<u64>()
        };
        assert_eq!((sum(|it| &it.events_written), sum(|it| &it.events_dropped)), counts);
    }

    #[test]
    fn what_waits_when_nobody_records_any_more_is_written_in_turns() {
        let all = [("a", "1"), ("a", "2"), ("b", "3")];
        let all = all.map(|(plugin, note)| occurrence(plugin, "o", note));
        check(Leading::default(), &all, &["1", "3", "2"], (3, 0));
    }

    #[test]
    fn a_host_that_does_not_lead_writes_no_events() {
        check(Leading::of_another(), &[occurrence("a", "o", "1")], &[], (0, 1));
    }

    #[test]
    fn of_a_dry_run_only_the_first_of_a_series_is_tried() {
        let dry = |note: &str| Occurrence { dry_run: true, ..occurrence("a", "o", note) };
        check(Leading::default(), &[dry("1"), dry("1"), dry("1"), dry("2")], &["1", "2"], (0, 0));
        let [one, again] = [occurrence("a", "o", "1"), occurrence("a", "o", "1")];
        check(Leading::default(), &[one, again], &["1", "a series"], (2, 0));
    }
}
