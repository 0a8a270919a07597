//! The pods and the log of their updates. Synchronous; the time is a parameter.

use std::sync::Arc;

use anyhow::ensure;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::load_server::field::{Field, Version};
use crate::load_server::selection::{Place, Selection};
use crate::load_server::server::Encoding;
use crate::load_server::template::Template;

/// ResourceVersions have ten digits from the first to the last.
const FIRST_RESOURCE_VERSION: u64 = 1_000_000_000;
/// Pods at most: 16 bytes each.
pub(crate) const PODS_MAX: u32 = 2_000_000;
/// Updates that the log holds between two changes of the number of pods: 16 bytes each.
pub(crate) const UPDATES_MAX: usize = 16_000_000;
/// Coprime to every number of pods that is used, so that updates go round all of them in no obvious order.
const STRIDE: u64 = 7_919;

/// Pods by workload, as both encodings have them.
pub(crate) struct Templates {
    pub json: Vec<Template>,
    /// Empty where nobody asked for protobuf.
    pub protobuf: Vec<Template>,
    /// Their metadata alone, in JSON.
    pub metadata: Vec<Template>,
    /// What the keys of a workload's pods begin with.
    pub keys: Vec<String>,
    /// Where a workload's pods are.
    pub places: Vec<Place>,
}

impl Templates {
    /// Those of an encoding.
    pub fn of(&self, encoding: Encoding) -> &[Template] {
        match encoding {
            Encoding::Json => &self.json,
            Encoding::Protobuf => &self.protobuf,
            Encoding::Metadata => &self.metadata,
        }
    }

    /// Pods in the order of their keys, as etcd has them and servers list them.
    fn in_order(&self, pods: u32) -> Vec<u32> {
        let key = |pod: u32| {
            let version = Version { pod, resource_version: 0, stamp: 0 };
            let mut suffix = [0; 5];
            Field::NameSuffix.fill(&version, &mut suffix);
            (&self.keys[pod as usize % self.keys.len()], suffix)
        };
        let mut order: Vec<u32> = (0..pods).collect();
        order.sort_unstable_by_key(|pod| key(*pod));
        order
    }
}

/// What a template's number is for a pod.
pub(crate) fn workload_of(pod: u32, templates: &[Template]) -> &Template {
    &templates[pod as usize % templates.len()]
}

/// What objects say that they are.
pub(crate) struct Kind {
    pub kind: String,
    pub api_version: String,
}

impl Kind {
    /// The first two members of an object.
    pub fn head(&self) -> String {
        format!(r#""kind":"{}","apiVersion":"{}","#, self.kind, self.api_version)
    }
}

/// What metadata alone say that they are.
fn metadata_kind() -> Kind {
    let [kind, api_version] = ["PartialObjectMetadata", "meta.k8s.io/v1"].map(str::to_owned);
    Kind { kind, api_version }
}

/// The pods, or objects of another resource that look like them, and who waits for their changes.
pub(crate) struct Cluster {
    kind: Kind,
    metadata_kind: Kind,
    pub templates: Arc<Templates>,
    state: Mutex<State>,
    /// Rises with every change of the state.
    changes: watch::Sender<u64>,
}

struct State {
    pods: Vec<PodState>,
    /// Numbers of all pods, as they are listed.
    order: Vec<u32>,
    /// The update of resourceVersion `log_begin + i + 1` is the i-th.
    log: Vec<Update>,
    log_begin: u64,
    /// Watches of an older age end with 410.
    age: u64,
    /// Lists and watches from before this are 410.
    oldest: u64,
    resource_version: u64,
    report: Report,
}

#[derive(Clone, Copy)]
struct PodState {
    resource_version: u64,
    stamp: u64,
}

#[derive(Clone, Copy)]
struct Update {
    pod: u32,
    stamp: u64,
}

/// What the server has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Pods that there are.
    pub pods: u32,
    /// The newest resourceVersion.
    pub resource_version: u64,
    /// Updates made.
    pub updates: u64,
    /// Initial states that were sent to their end, by list or watch.
    pub initial_states: u64,
    /// Objects of initial states that were sent, by list or watch.
    pub objects_sent: u64,
    /// Updates sent, to all watches together.
    pub updates_sent: u64,
    /// Watches that are open.
    pub watches: u32,
}

/// What a watch has to send next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// These updates, none of them where the watch has none of those since, and the newest resourceVersion that was looked at.
    Updates(Vec<Version>, u64),
    /// Nothing before the next change.
    Wait,
    /// Its place in the log is gone.
    Expired,
}

impl Cluster {
    /// A cluster without pods.
    pub fn new(kind: Kind, templates: Arc<Templates>) -> Arc<Self> {
        let state = State {
            pods: Vec::new(),
            order: Vec::new(),
            log: Vec::new(),
            log_begin: FIRST_RESOURCE_VERSION,
            age: 0,
            oldest: FIRST_RESOURCE_VERSION,
            resource_version: FIRST_RESOURCE_VERSION,
            report: Report::default(),
        };
        let changes = watch::Sender::new(0);
        let metadata_kind = metadata_kind();
        Arc::new(Self { kind, metadata_kind, templates, state: Mutex::new(state), changes })
    }

    /// What objects in this encoding say that they are.
    pub fn kind_of(&self, encoding: Encoding) -> &Kind {
        match encoding {
            Encoding::Metadata => &self.metadata_kind,
            Encoding::Json | Encoding::Protobuf => &self.kind,
        }
    }

    /// Sets the number of pods; watches end, and everybody lists again.
    pub fn reset(&self, pods: u32, now: u64) -> anyhow::Result<()> {
        ensure!(pods <= PODS_MAX, "{pods} pods are more than {PODS_MAX}");
        let order = self.templates.in_order(pods);
        self.change(|state| {
            let first = state.resource_version;
            let pod = |number: u32| PodState {
                resource_version: first + u64::from(number) + 1,
                stamp: now,
            };
            state.pods = (0..pods).map(pod).collect();
            state.order = order;
            state.resource_version += u64::from(pods);
            state.expire();
            Ok(())
        })
    }

    /// Changes as many pods, one after the other; watches are told.
    pub fn update(&self, updates: usize, now: u64) -> anyhow::Result<()> {
        self.change(|state| {
            ensure!(!state.pods.is_empty(), "there are no pods to update");
            let all = state.log.len() + updates;
            ensure!(all <= UPDATES_MAX, "{all} updates are more than {UPDATES_MAX}");
            for _ in 0..updates {
                let pod = state.next_pod();
                state.resource_version += 1;
                state.touch(pod, now);
                state.log.push(Update { pod, stamp: now });
            }
            Ok(())
        })
    }

    /// Changes as many pods and tells no watch: all end with 410 and have to list again.
    pub fn expire(&self, changed: usize, now: u64) -> anyhow::Result<()> {
        self.change(|state| {
            ensure!(changed <= state.pods.len(), "there are not {changed} pods");
            for _ in 0..changed {
                let pod = state.next_pod();
                state.resource_version += 1;
                state.touch(pod, now);
            }
            state.expire();
            Ok(())
        })
    }

    fn change(&self, change: impl FnOnce(&mut State) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let changed = change(&mut self.state.lock());
        self.changes.send_modify(|changes| *changes += 1);
        changed
    }

    /// Is told of every change from now on.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// All selected pods, the resourceVersion that they are of, and the age for [`Self::next`].
    pub fn snapshot(&self, selection: &Selection) -> (Vec<Version>, u64, u64) {
        let mut state = self.state.lock();
        let versions: Vec<_> = state.selected(selection).collect();
        state.report.objects_sent += versions.len() as u64;
        (versions, state.resource_version, state.age)
    }

    /// A page of the selected pods, the resourceVersion, and whether there are more.
    pub fn page(
        &self,
        begin: usize,
        limit: usize,
        selection: &Selection,
    ) -> (Vec<Version>, u64, bool) {
        let limit = if limit == 0 { PODS_MAX as usize } else { limit };
        let mut state = self.state.lock();
        let mut rest = state.selected(selection).skip(begin);
        let versions: Vec<_> = rest.by_ref().take(limit).collect();
        let more = rest.next().is_some();
        drop(rest);
        state.report.objects_sent += versions.len() as u64;
        (versions, state.resource_version, more)
    }

    /// The present age, if a watch may begin after this resourceVersion.
    pub fn age_for(&self, resource_version: u64) -> Option<u64> {
        let state = self.state.lock();
        (resource_version >= state.oldest).then_some(state.age)
    }

    /// The updates of selected pods after this resourceVersion, so many at most.
    pub fn next(&self, after: u64, age: u64, max: usize, selection: &Selection) -> Next {
        let mut state = self.state.lock();
        if age != state.age || after < state.log_begin {
            return Next::Expired;
        }
        let begin = ((after - state.log_begin) as usize).min(state.log.len());
        let (mut versions, mut newest) = (Vec::new(), after);
        for update in &state.log[begin..] {
            newest += 1;
            if selection.has(update.pod) {
                let Update { pod, stamp } = *update;
                versions.push(Version { pod, resource_version: newest, stamp });
            }
            if versions.len() == max {
                break;
            }
        }
        if newest == after {
            return Next::Wait;
        }
        state.report.updates_sent += versions.len() as u64;
        Next::Updates(versions, newest)
    }

    /// Counts in the report.
    pub fn count(&self, count: impl FnOnce(&mut Report)) {
        count(&mut self.state.lock().report);
    }

    /// What was done so far.
    pub fn report(&self) -> Report {
        let state = self.state.lock();
        Report {
            pods: state.pods.len() as u32,
            resource_version: state.resource_version,
            ..state.report
        }
    }
}

impl State {
    fn next_pod(&mut self) -> u32 {
        self.report.updates += 1;
        (self.report.updates * STRIDE % self.pods.len() as u64) as u32
    }

    fn touch(&mut self, pod: u32, stamp: u64) {
        let resource_version = self.resource_version;
        self.pods[pod as usize] = PodState { resource_version, stamp };
    }

    /// Selected pods as they are listed.
    fn selected(&self, selection: &Selection) -> impl Iterator<Item = Version> {
        let pods = self.order.iter().filter(|pod| selection.has(**pod));
        pods.map(|pod| self.version(*pod))
    }

    fn version(&self, pod: u32) -> Version {
        let PodState { resource_version, stamp } = self.pods[pod as usize];
        Version { pod, resource_version, stamp }
    }

    fn expire(&mut self) {
        self.age += 1;
        self.log = Vec::new();
        self.log_begin = self.resource_version;
        self.oldest = self.resource_version;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two templates, the pods of even numbers in the namespace `a` and those of odd numbers in `b`.
    fn cluster(pods: u32) -> Arc<Cluster> {
        let place = |namespace: &str| {
            let pod = format!(r#"{{"metadata":{{"namespace":"{namespace}"}}}}"#);
            Place::of(&pod).expect("a pod").0
        };
        let templates = Templates {
            json: Vec::new(),
            protobuf: Vec::new(),
            metadata: Vec::new(),
            keys: vec!["a/".to_owned(), "b/".to_owned()],
            places: vec![place("a"), place("b")],
        };
        let kind = Kind { kind: "Pod".to_owned(), api_version: "v1".to_owned() };
        let cluster = Cluster::new(kind, Arc::new(templates));
        cluster.reset(pods, 1).expect("few pods");
        cluster
    }

    fn selection(cluster: &Cluster, namespace: Option<&str>) -> Selection {
        Selection::of(&cluster.templates.places, namespace, &"".parse().expect("everything"))
    }

    #[test]
    fn a_list_of_a_namespace_has_its_pods_page_by_page_and_counts_them() {
        let cluster = cluster(10);
        let of_b = selection(&cluster, Some("b"));
        let (first, _, more) = cluster.page(0, 3, &of_b);
        assert!(more && first.len() == 3 && first.iter().all(|version| version.pod % 2 == 1));
        let (rest, _, more) = cluster.page(3, 3, &of_b);
        assert!(!more && rest.len() == 2, "{rest:?}");
        assert_eq!(cluster.snapshot(&of_b).0.len(), 5);
        assert_eq!(cluster.snapshot(&selection(&cluster, None)).0.len(), 10);
        assert_eq!(cluster.report().objects_sent, 20);
    }

    #[test]
    fn a_watch_of_a_namespace_goes_on_after_updates_of_others() {
        let cluster = cluster(10);
        let (_, begin, age) = cluster.snapshot(&Selection::default());
        cluster.update(10, 2).expect("there are pods");
        let mut seen = Vec::new();
        let mut after = begin;
        let of_b = selection(&cluster, Some("b"));
        while let Next::Updates(updates, newest) = cluster.next(after, age, 2, &of_b) {
            assert!(updates.len() <= 2 && newest > after);
            seen.extend(updates.iter().map(|update| (update.pod % 2, update.resource_version)));
            after = newest;
        }
        assert_eq!(after, begin + 10);
        let odd = (1..=10).filter(|update| update * STRIDE % 10 % 2 == 1);
        assert_eq!(seen, odd.map(|update| (1, begin + update)).collect::<Vec<_>>());
    }
}
