//! A sieve answers for its subscriptions as each of them does alone.

use super::refused_updates::{ANSWER_MAX, BYTES_MAX, UPDATES_MAX};
use super::*;
use crate::counters::Counters;
use crate::delivery::mailbox::tests::parse;
use crate::delivery::mailbox::{Marks, Settled};
use crate::delivery::mailboxes::Hands;
use crate::delivery::subscription::SubscriptionHandler;
use crate::delivery::subscription::tests::spec;
use crate::history::PastDelivery;
use informant_cache::{Interest, Reason, ResourceEventHandler};

const ID: SubscriptionId = SubscriptionId(1);

const FILTERS: [&str; 13] = [
    "",
    "object.status.phase == 'Running'",
    "object.status.phase == 'Failed'",
    "'Failed' == object.status.phase",
    "object.status.phase == ''",
    "object.status.phase == old.status.phase",
    "old.status.phase == 'Failed'",
    "object.status.phase in ['Running', 'Failed']",
    "object.status.reason == 'x'",
    "object.status == 'x'",
    "object.status.phase == 7",
    "size(object.status.phase) > 6",
    "change != 'updated' || object.metadata.resourceVersion.startsWith('1')",
];
const POINTERS: [&str; 3] = ["", r#""/status/phase""#, r#""/status/reason","/status/phase""#];
const EVENTS: [&str; 3] = ["", r#","types":["updated"]"#, r#","types":["added","deleted"]"#];
const SELECTORS: [&str; 3] = ["", "", r#","labelSelector":"app=web""#];
const PHASES: [&str; 8] =
    [r#""Running""#, r#""Failed""#, r#""Fa\u0069led""#, r#""a\"b""#, r#""""#, "null", "7", "{}"];

/// A plugin with one subscription of the load 1, whose actor waits.
struct Plugin {
    spec: SubscriptionSpec,
    queue: Arc<PluginQueue>,
    handler: Option<SubscriptionHandler>,
    /// Whether its actor works on an event.
    works: bool,
}

impl Plugin {
    fn new(spec: &SubscriptionSpec, shared: &Arc<SharedProjection>) -> Self {
        let marks = Marks { events: 100, bytes: usize::MAX };
        let queue = Arc::new(PluginQueue::new(marks, Arc::<Counters>::default()));
        let handler = SubscriptionHandler::new(ID, spec, queue.clone()).of_loads(1, 1);
        let handler = handler.reading_with(shared, spec, true);
        handler.on_synced();
        queue.change(|mailboxes| {
            mailboxes.set_filters_of(1);
            mailboxes.change_initials(|initials| initials.begin(ID, 1));
            mailboxes.history.set_bytes_max(1 << 20);
        });
        queue.wait_without_actor(0, Hands::waiting(1));
        Self { spec: spec.clone(), queue, handler: Some(handler), works: false }
    }

    fn sifted_by(
        self,
        sieve: &Arc<SubscriptionSieve>,
        spec: &SubscriptionSpec,
        shared: &Arc<SharedProjection>,
    ) -> Self {
        let handler = self.handler.map(|it| it.sifted_by(sieve, shared, spec, true));
        Self { handler, ..self }
    }

    fn place(&self) -> Option<usize> {
        match self.handler.as_ref()?.interest() {
            Interest::Sifted(place) => Some(place.place),
            _ => None,
        }
    }

    fn update(&self, [old, new]: [&Object; 2], cause: Cause) {
        if let Some(handler) = &self.handler {
            handler.on_update(old, new, cause);
        }
    }

    /// Takes all events, and shows them, the number of filtered ones, and those in the history.
    fn shown(&mut self, key: &ObjectKey) -> String {
        let (mut events, now) = (Vec::new(), Instant::now());
        self.queue.settle_event(0, Settled::Finished, now);
        self.works = false;
        while let Some(queued) = self.queue.pop(0, now) {
            events.push(queued.event.object.resource_version().to_owned());
            self.queue.settle_event(0, Settled::Finished, now);
        }
        let mut past = self.queue.look(|it| it.history.of(key));
        past.extend(self.queue.refused_updates(key).0);
        past.sort_by_key(|past| past.ended);
        let show =
            |it: &PastDelivery| format!("{:?} {:?} {}", it.reason, it.end, it.resource_version);
        let past: Vec<_> = past.iter().map(show).collect();
        format!("{events:?}; {} filtered; {past:?}", self.queue.filtered())
    }
}

fn pod(version: usize, phase: Option<&str>) -> Object {
    named("web", version, phase)
}

fn named(name: &str, version: usize, phase: Option<&str>) -> Object {
    let status = phase.map(|phase| format!(r#""phase":{phase}"#)).unwrap_or_default();
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"a","uid":"1",
        "resourceVersion":"{version}","labels":{{"app":"web"}}}},"status":{{{status}}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("the test's pod is well formed")
}

fn cause(reason: Reason) -> Cause {
    Cause { reason, received: Instant::now() }
}

/// Lets a sieve decide first, and calls the handlers of the rest.
fn update(
    sieve: &SubscriptionSieve,
    plugins: &[Plugin],
    states: [&Object; 2],
    cause: Cause,
) -> SievePlaces {
    let mut places: SievePlaces = plugins.iter().filter_map(Plugin::place).collect();
    sieve.sift(states, cause, &mut places);
    let is_called = |it: &&Plugin| it.place().is_none_or(|place| places.contains(place));
    plugins.iter().filter(is_called).for_each(|plugin| plugin.update(states, cause));
    places
}

/// A change of one plugin that decides about refusals, in both worlds.
fn change(random: &mut fastrand::Rng, one: &mut Plugin, other: &mut Plugin) {
    let (step, version) = (random.u32(..16), random.u64(1..3));
    let settled = if random.bool() { Settled::Finished } else { Settled::RetryAt(Instant::now()) };
    for plugin in [one, other] {
        match step {
            10..13 if plugin.works => {
                plugin.queue.settle_event(0, settled, Instant::now());
                plugin.works = false;
            }
            10..13 => {
                plugin.works = plugin.queue.take_without_actor(0, Hands::waiting(version));
            }
            0..4 => plugin.queue.change(|it| it.set_filters_of(version)),
            4..7 => plugin.queue.push(parse("+a1")),
            7 => plugin.handler = None,
            8 => {
                // The other handler gets nothing here.
                let (spec, queue) = (&plugin.spec, plugin.queue.clone());
                let before = plugin.handler.as_ref();
                _ = before.map(|before| SubscriptionHandler::replacing(ID, spec, queue, before));
                plugin.queue.change(|it| it.change_initials(|it| it.begin(ID, 2)));
            }
            _ => plugin.queue.wait_without_actor(0, Hands::waiting(version)),
        }
    }
}

#[test]
fn together_subscriptions_refuse_what_each_refuses_alone() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let sieve = Arc::<SubscriptionSieve>::default();
        let [apart, shared] = [(); 2].map(|()| Arc::<SharedProjection>::default());
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        for _ in 0..random.usize(1..20) {
            let mut one_of = |texts: &[&'static str]| texts[random.usize(..texts.len())];
            let filter = match one_of(&FILTERS) {
                "" => String::new(),
                filter => format!(r#","filter":"{filter}""#),
            };
            let pointers = match one_of(&POINTERS) {
                "" => String::new(),
                pointers => format!(r#","onlyIfChanged":[{pointers}]"#),
            };
            let keys = format!("{filter}{pointers}{}{}", one_of(&EVENTS), one_of(&SELECTORS));
            let spec = spec(&keys);
            alone.push(Plugin::new(&spec, &apart));
            together.push(Plugin::new(&spec, &shared).sifted_by(&sieve, &spec, &shared));
        }
        let mut phases = [None; 2];
        for version in 1..90 {
            if random.u32(..3) == 0 {
                let number = random.usize(..alone.len());
                change(&mut random, &mut alone[number], &mut together[number]);
            }
            let of = random.usize(..2);
            let phase = phases[of];
            let next = match random.u32(..3) {
                0 => phase,
                _ => PHASES.get(random.usize(..=PHASES.len())).copied(),
            };
            phases[of] = next;
            // Each world has its own objects: the values that a pass found stay with them.
            let [of_alone, of_together] =
                [(); 2].map(|()| [(version, phase), (version + 1, next)]).map(|states| {
                    states.map(|(version, phase)| named(["web", "db"][of], version, phase))
                });
            let cause = cause(if random.bool() { Reason::Watch } else { Reason::Relist });
            let [old, new] = &of_alone;
            alone.iter().for_each(|plugin| plugin.update([old, new], cause));
            let [old, new] = &of_together;
            update(&sieve, &together, [old, new], cause);
            if random.u32(..4) == 0 {
                for (one, other) in alone.iter_mut().zip(&mut together) {
                    assert_eq!(one.shown(new.key()), other.shown(new.key()), "seed {seed}");
                }
            }
        }
        together.clear();
        let state = sieve.state.lock();
        assert!(state.groups.is_empty() && state.members.iter().all(Option::is_none));
    }
}

/// Plugins with these filters, beside each other.
fn plugins(filters: &[&str]) -> (Arc<SubscriptionSieve>, Vec<Plugin>) {
    let (sieve, shared) = (Arc::<SubscriptionSieve>::default(), Arc::default());
    let of = |filter: &&str| {
        let spec = spec(&format!(r#","filter":"{filter}""#));
        Plugin::new(&spec, &shared).sifted_by(&sieve, &spec, &shared)
    };
    let plugins = filters.iter().map(of).collect();
    (sieve, plugins)
}

/// Checks the number of groups, and the places that an update to the phase `b` passes.
#[track_caller]
fn check_groups(filters: &[&str], groups: usize, passed: &[usize]) {
    let (sieve, plugins) = plugins(filters);
    assert_eq!(sieve.state.lock().groups.len(), groups, "{filters:?}");
    let states = [pod(1, None), pod(2, Some(r#""b""#))];
    let places = update(&sieve, &plugins, states.each_ref(), cause(Reason::Watch));
    assert!(places.iter().eq(passed.iter().copied()), "{places:?} of {filters:?}");
}

#[test]
fn equal_questions_are_asked_once_and_equal_pointers_need_no_equal_text() {
    let of = |text: &str| format!("object.status.phase == '{text}'");
    let (a, b, c) = (of("a"), of("b"), of("c"));
    check_groups(&[&a, &b, &c, &b], 1, &[1, 3]);
    check_groups(&[&a, "'b' == object.status.phase", "object.status.reason == 'b'"], 2, &[1, 2]);
    let prefix = "object.status.phase.startsWith('a')";
    check_groups(&[prefix, &a, prefix], 2, &[]);
}

/// While a plugin works, an update that its filter refuses is merged with a waiting event: that one alone would give the
/// plugin a state that it does not want.
#[test]
fn a_plugin_that_works_gets_no_refused_update_of_another_object_and_loses_none_of_a_waiting_one() {
    let (sieve, plugins) = plugins(&["object.status.phase == 'Running'"]);
    let queue = &plugins[0].queue;
    queue.change(|it| it.set_marks(Marks { events: 1, bytes: usize::MAX }));
    queue.push(parse("+a1"));
    assert!(queue.take_without_actor(0, Hands::waiting(1)));
    let check = |name: &str, [old, new]: [&str; 2], version: usize, waiting: &[&str]| {
        let phase = |phase: &str| format!("{phase:?}");
        let states =
            [named(name, version, Some(&phase(old))), named(name, version + 1, Some(&phase(new)))];
        update(&sieve, &plugins, states.each_ref(), cause(Reason::Watch));
        let found = queue.look(|it| it.waiting_of(states[1].key()));
        let found: Vec<&str> = found.iter().map(|it| &*it.resource_version).collect();
        assert_eq!(found, waiting, "{name} from {old} to {new}");
    };
    check("db", ["Running", "Failed"], 1, &[]);
    check("web", ["Failed", "Running"], 1, &["2"]);
    check("db", ["Failed", "Pending"], 2, &[]);
    check("web", ["Running", "Failed"], 2, &["3"]);
    assert_eq!(queue.filtered(), 2);
}

#[test]
fn the_records_are_bounded_and_the_place_of_one_that_left_is_free() {
    let (sieve, mut plugins) =
        plugins(&["object.status.phase == 'a'", "object.status.phase == 'b'"]);
    let states = [pod(1, None), pod(2, Some(r#""c""#))];
    let key = states[1].key().clone();
    let last = pod(3, Some(r#""c""#));
    for number in 0..=UPDATES_MAX {
        let new = if number == UPDATES_MAX { &last } else { &states[1] };
        update(&sieve, &plugins, [&states[0], new], cause(Reason::Watch));
    }
    let (past, forgotten) = plugins[0].queue.refused_updates(&key);
    assert_eq!((past.len(), forgotten.is_some()), (ANSWER_MAX, true));
    assert_eq!(past.last().map(|past| &*past.resource_version), Some("3"));
    plugins[0].handler = None;
    let left = &plugins[0].queue;
    assert_eq!(left.filtered(), UPDATES_MAX as u64 + 1, "the plugin keeps its count");
    let (past, has_forgotten) =
        left.look(|it| (it.history.of(&key), it.history.forgotten() == forgotten));
    assert_eq!((past.len(), has_forgotten), (ANSWER_MAX, true), "and the newest of its history");
    assert_eq!(left.refused_updates(&key), (Vec::new(), None));
    let shared = Arc::default();
    let spec = spec(r#","filter":"object.status.phase == 'd'""#);
    let another = Plugin::new(&spec, &shared).sifted_by(&sieve, &spec, &shared);
    assert_eq!(another.place(), Some(0));
    assert_eq!(
        (another.queue.filtered(), another.queue.refused_updates(&key)),
        (0, (vec![], None))
    );
}

/// The names of objects that are gone are not kept for ever, whatever their length.
#[test]
fn the_records_are_bounded_by_their_bytes_and_none_is_left_without_a_place() {
    let (sieve, mut plugins) =
        plugins(&["object.status.phase == 'a'", "object.status.phase == 'b'"]);
    for number in 0..100 {
        let name = format!("{number:0>60000}");
        let [old, new] = [1, 2].map(|version| {
            let json = format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","uid":"1","resourceVersion":"{version}"}},"status":{{"phase":"c"}}}}"#
            );
            Object::decode(json.as_bytes(), None).expect("the test's pod is well formed")
        });
        update(&sieve, &plugins, [&old, &new], cause(Reason::Watch));
        let bytes = sieve.state.lock().updates.check_bytes();
        assert!(bytes <= BYTES_MAX, "{bytes} bytes after {number}");
    }
    let (_, forgotten) = plugins[0].queue.refused_updates(pod(1, None).key());
    assert!(forgotten.is_some());
    plugins.clear();
    assert_eq!(sieve.state.lock().updates.check_bytes(), 0);
}
