//! The Kubernetes Event of an occurrence: a new one, or a series. Synchronous. As client-go's
//! `tools/events/event_broadcaster.go` and, for the bounds, `tools/record/events_cache.go`.

use super::{Occurrence, Regarding};
use crate::counters::Counters;
use crate::log_budget::LogBudget;
use crate::names::is_subdomain;
use crate::outside::service_account::ServiceAccount;
use crate::outside::write::{How, NamedObject, Write};
use crate::token_bucket::{TokenBucket, TokenBuckets, forget_full};
use hashbrown::HashMap;
use jiff::Timestamp;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most series known at once, of all plugins. Each has some hundred bytes and its texts: at most a few megabytes.
const SERIES_MAX: usize = 2_000;
/// A later occurrence begins a new Event: client-go's `finishTime`.
const SERIES_END: Duration = Duration::from_secs(6 * 60);
/// A series is written after its second occurrence and then no sooner than this, however often it occurs.
const WRITTEN_EVERY: Duration = Duration::from_secs(30);
/// New Events of one plugin about one object: client-go's spam filter, `defaultSpamBurst` and `defaultSpamQPS`.
const EVENTS_AT_ONCE: f64 = 25.0;
const EVENTS_PER_SECOND: f64 = 1.0 / 300.0;
const EVENTS: &str = "events.k8s.io/v1/events";
/// The most bytes of a name, without its unique end.
const NAME_BYTES_MAX: usize = 253 - 17;

/// The identity of a series.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SeriesKey {
    plugin: String,
    regarding: Regarding,
    is_warning: bool,
    reason: String,
    note: String,
    service_account: Option<ServiceAccount>,
    dry_run: bool,
}

#[derive(Debug)]
struct KnownEvent {
    /// The name of the Event.
    name: String,
    count: u32,
    last: Timestamp,
    seen: Instant,
    written: Instant,
    /// Whether there was an occurrence since the last write.
    is_due: bool,
    counters: Arc<Counters>,
    log_budget: LogBudget,
}

/// A request to write an Event.
#[derive(Debug)]
pub(super) struct EventWrite {
    pub(super) key: SeriesKey,
    pub(super) write: Write,
    pub(super) plugin: String,
    pub(super) service_account: Option<ServiceAccount>,
    pub(super) dry_run: bool,
    pub(super) counters: Arc<Counters>,
    pub(super) log_budget: LogBudget,
}

/// There are too many Events about this object, or its names are not valid.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotRecorded;

#[derive(Debug, Default)]
pub(super) struct EventSeries {
    known: HashMap<SeriesKey, KnownEvent>,
    /// The remaining Events of plugins about objects.
    spam: TokenBuckets<(String, Regarding)>,
    /// The number in the name of the last Event.
    number: u64,
}

impl EventSeries {
    /// Notes an occurrence. Returns the request to write at once, if there is one.
    pub(super) fn record(
        &mut self,
        occurrence: &Occurrence,
        now: Instant,
    ) -> Result<Option<EventWrite>, NotRecorded> {
        let key = SeriesKey::of(occurrence);
        let is_over = |known: &KnownEvent| now.duration_since(known.seen) > SERIES_END;
        if let Some(known) = self.known.get_mut(&key).filter(|known| !is_over(known)) {
            known.count = known.count.saturating_add(1);
            // A dry run has made no Event that could be changed.
            (known.last, known.seen, known.is_due) = (occurrence.at, now, !key.dry_run);
            let is_time = known.count == 2 || now.duration_since(known.written) >= WRITTEN_EVERY;
            return Ok((known.is_due && is_time).then(|| known.write(&key, now)).flatten());
        }
        self.spend(&key, now)?;
        let name = self.name(&occurrence.regarding.name, occurrence.at);
        let event = event(&name, occurrence).to_string().into_bytes();
        let recorded =
            key.recorded(&name, How::Create, event, (&occurrence.counters, &occurrence.log_budget));
        let recorded = recorded.ok_or(NotRecorded)?;
        self.make_room(now);
        let known = KnownEvent {
            name,
            count: 1,
            last: occurrence.at,
            seen: now,
            written: now,
            is_due: false,
            counters: occurrence.counters.clone(),
            log_budget: occurrence.log_budget.clone(),
        };
        self.known.insert(key, known);
        Ok(Some(recorded))
    }

    /// When the next series must be written without a new occurrence.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let due = self.known.values().filter(|known| known.is_due);
        due.map(|known| known.written + WRITTEN_EVERY).min()
    }

    /// The requests to write by now.
    pub(super) fn due(&mut self, now: Instant) -> Vec<EventWrite> {
        let is_due = |known: &KnownEvent| known.is_due && now >= known.written + WRITTEN_EVERY;
        let due = self.known.iter_mut().filter(|(_, known)| is_due(known));
        due.filter_map(|(key, known)| known.write(key, now)).collect()
    }

    /// Forgets a series after a failed write.
    pub(super) fn forget(&mut self, key: &SeriesKey) {
        self.known.remove(key);
    }

    /// Makes room: forgets finished series. Without any, forgets the series with the oldest occurrence of the plugin
    /// that has the most series. Unwritten counts are lost then, and the next occurrence begins a new Event.
    fn make_room(&mut self, now: Instant) {
        if self.known.len() < SERIES_MAX {
            return;
        }
        self.known.retain(|_, known| now.duration_since(known.seen) <= SERIES_END);
        if self.known.len() < SERIES_MAX {
            return;
        }
        let most = whoever_has_most(self.known.keys().map(|key| &*key.plugin));
        let of_most = self.known.iter().filter(|(key, _)| Some(&*key.plugin) == most);
        let oldest = of_most.min_by_key(|(_, known)| known.seen).map(|(key, _)| key.clone());
        if let Some(oldest) = oldest {
            self.known.remove(&oldest);
        }
    }

    /// The same for the bucket of one more object: the bucket that is nearest to full is dropped.
    fn make_room_for_spam(&mut self, now: Instant) {
        if self.spam.len() < SERIES_MAX {
            return;
        }
        forget_full(&mut self.spam, now);
        if self.spam.len() < SERIES_MAX {
            return;
        }
        let most = whoever_has_most(self.spam.keys().map(|(plugin, _)| &**plugin));
        let of_most = self.spam.iter().filter(|((plugin, _), _)| Some(&**plugin) == most);
        let fullest = of_most.max_by(|(_, a), (_, b)| a.tokens().total_cmp(&b.tokens()));
        let fullest = fullest.map(|(about, _)| about.clone());
        if let Some(fullest) = fullest {
            self.spam.remove(&fullest);
        }
    }

    fn spend(&mut self, key: &SeriesKey, now: Instant) -> Result<(), NotRecorded> {
        let about = (key.plugin.clone(), key.regarding.clone());
        if !self.spam.contains_key(&about) {
            self.make_room_for_spam(now);
        }
        let full = || TokenBucket::new(EVENTS_PER_SECOND, EVENTS_AT_ONCE, now);
        self.spam.entry(about).or_insert_with(full).take(now).map_err(|_| NotRecorded)
    }

    /// As client-go names Events: the object and a time, which differs each time.
    fn name(&mut self, object: &str, at: Timestamp) -> String {
        let nanoseconds = u64::try_from(at.as_nanosecond()).unwrap_or_default();
        self.number = nanoseconds.max(self.number + 1);
        // Roles may have names that Events cannot have.
        let object = if is_subdomain(object) { object } else { "object" };
        let object = &object[..object.len().min(NAME_BYTES_MAX)];
        format!("{}.{:016x}", object.trim_end_matches(['-', '.']), self.number)
    }
}

impl SeriesKey {
    fn of(occurrence: &Occurrence) -> Self {
        let Occurrence { plugin, regarding, is_warning, reason, note, .. } = occurrence;
        Self {
            plugin: plugin.clone(),
            regarding: regarding.clone(),
            is_warning: *is_warning,
            reason: reason.clone(),
            note: note.clone(),
            service_account: occurrence.service_account.clone(),
            dry_run: occurrence.dry_run,
        }
    }

    fn recorded(
        &self,
        name: &str,
        how: How,
        body: Vec<u8>,
        (counters, log_budget): (&Arc<Counters>, &LogBudget),
    ) -> Option<EventWrite> {
        let namespace = self.regarding.event_namespace();
        let named = NamedObject { resource: EVENTS, namespace, name, subresource: "" };
        Some(EventWrite {
            key: self.clone(),
            write: Write::new(named, how, body).ok()?,
            plugin: self.plugin.clone(),
            service_account: self.service_account.clone(),
            dry_run: self.dry_run,
            counters: counters.clone(),
            log_budget: log_budget.clone(),
        })
    }
}

impl KnownEvent {
    /// The current state of the series, as a request.
    fn write(&mut self, key: &SeriesKey, now: Instant) -> Option<EventWrite> {
        (self.written, self.is_due) = (now, false);
        let series = json!({ "count": self.count, "lastObservedTime": micro_time(self.last) });
        let patch = json!({ "series": series }).to_string().into_bytes();
        key.recorded(&self.name, How::MergePatch, patch, (&self.counters, &self.log_budget))
    }
}

/// The plugin with the most entries, so that one plugin's Events cost another plugin nothing.
fn whoever_has_most<'a>(plugins: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut counts = HashMap::<&str, usize>::new();
    for plugin in plugins {
        *counts.entry(plugin).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(plugin, _)| plugin)
}

fn event(name: &str, occurrence: &Occurrence) -> serde_json::Value {
    let Occurrence { plugin, regarding, is_warning, reason, note, at, .. } = occurrence;
    let Regarding { api_version, kind, namespace, name: object, uid } = regarding;
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": regarding.event_namespace() },
        "eventTime": micro_time(*at),
        "type": if *is_warning { "Warning" } else { "Normal" },
        "reason": reason,
        "action": reason,
        "note": note,
        "reportingController": format!("informant.dev/{plugin}"),
        "reportingInstance": "informant",
        "regarding": {
            "apiVersion": api_version,
            "kind": kind,
            "namespace": namespace,
            "name": object,
            "uid": uid,
        },
    })
}

/// A time in the form of Kubernetes' `MicroTime`.
fn micro_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outside::cluster_writer::WriteRequest;

    fn occurrence(name: &str, note: &str) -> Occurrence {
        super::super::tests::occurrence("p", name, note)
    }

    fn request(recorded: EventWrite) -> WriteRequest {
        recorded.write.request("p", false, 1)
    }

    /// Occurrences about an object at these seconds: `a` is a note, and `-` a look at the due writes. Shows the
    /// writes: `new` Events, counts of series, `x` for too many, and nothing otherwise.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let (mut series, start) = (EventSeries::default(), Instant::now());
        let mut shown = Vec::new();
        for step in steps.split(' ') {
            let (at, what) = step.split_once(':').expect("a time and a step");
            let now = start + Duration::from_secs(at.parse().expect("seconds"));
            let written = match what {
                "-" => series.due(now),
                note => match series.record(&occurrence("a", note), now) {
                    Ok(recorded) => recorded.into_iter().collect(),
                    Err(NotRecorded) => {
                        shown.push("x".to_owned());
                        continue;
                    }
                },
            };
            shown.extend(written.into_iter().map(request).map(|request| {
                let body: serde_json::Value =
                    serde_json::from_slice(&request.body).expect("it is JSON");
                match request.method {
                    "POST" => "new".to_owned(),
                    _ => body["series"]["count"].to_string(),
                }
            }));
        }
        assert_eq!(shown.join(" "), expect, "{steps}");
    }

    #[test]
    fn what_is_said_again_is_a_series_that_is_written_now_and_then() {
        check("0:a 0:b", "new new");
        check("0:a 1:a 2:a 3:a 30:- 31:- 62:-", "new 2 4");
        check("0:a 1:a 2:a 40:a", "new 2 4");
        check("0:a 360:a 721:a", "new 2 new");
    }

    #[test]
    fn new_events_about_one_object_are_bounded() {
        let notes = |count: u32| {
            let steps: Vec<String> = (0..count).map(|number| format!("0:n{number}")).collect();
            steps.join(" ")
        };
        check(&notes(25), &["new"; 25].join(" "));
        check(&format!("{} 299:z 301:z", notes(26)), &format!("{} x x new", ["new"; 25].join(" ")));
    }

    #[test]
    fn series_are_bounded_and_whoever_has_most_forgets_its_oldest() {
        let (mut series, start) = (EventSeries::default(), Instant::now());
        // Whether the occurrence makes a new Event, and not one more of a series.
        let mut record = |plugin: &str, name: usize, at: u64| {
            let now = start + Duration::from_secs(at);
            let name = format!("o{name}");
            let occurrence = super::super::tests::occurrence(plugin, &name, "");
            let recorded = series.record(&occurrence, now).expect("there is room");
            assert!(series.known.len() <= SERIES_MAX && series.spam.len() <= SERIES_MAX);
            recorded.is_some_and(|recorded| request(recorded).method == "POST")
        };
        assert!(record("q", 0, 0));
        for name in 1..SERIES_MAX {
            assert!(record("p", name, if name == 1 { 1 } else { 2 }));
        }
        assert!(record("p", SERIES_MAX, 3));
        assert!(!record("q", 0, 3), "another plugin's is not forgotten");
        assert!(!record("p", 2, 3));
        assert!(record("p", 1, 3), "the oldest is");
        assert!(record("r", 0, 4) && !record("r", 0, 4), "there is room for a newcomer");
        assert!(record("p", 3, 400), "what is over is forgotten first");
        assert_eq!(series.known.len(), 1);
    }

    #[test]
    fn an_event_is_what_the_api_server_takes() {
        let mut series = EventSeries::default();
        let recorded = series.record(&occurrence("a", "hello"), Instant::now());
        let request = request(recorded.expect("there is room").expect("it is new"));
        let expect = "/apis/events.k8s.io/v1/namespaces/shop/events?fieldManager=informant-p";
        assert_eq!((request.method, request.uri.as_str()), ("POST", expect));
        let body: serde_json::Value = serde_json::from_slice(&request.body).expect("it is JSON");
        assert_eq!(body["metadata"]["name"], "a.0000000000000001");
        assert_eq!(body["eventTime"], "1970-01-01T00:00:00.000000Z");
        assert_eq!(body["regarding"]["kind"], "Pod");
        for odd in ["n".repeat(253), "system:node".to_owned(), format!("{}.b", "a".repeat(235))] {
            let recorded = series.record(&occurrence(&odd, ""), Instant::now());
            assert!(recorded.is_ok(), "its Event has another name than {odd}");
        }
    }
}
