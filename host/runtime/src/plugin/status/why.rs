//! The reasons for which a plugin does not do all of its work: WHY of `informant plugin list`, and `why` in
//! `/plugins`.

use super::PluginStatus;
use crate::contract::coverage::{subscribed_scope, watched_scope};
use crate::counted::counted;
use crate::delivery::key_queue::GIVEN_UP_MAX;
use crate::delivery::not_now::NotNow;
use crate::enumerated::enumerated;
use crate::namespace_labels::{namespaces, namespaces_scope};
use crate::one_line::one_line;
use informant_cache::{InformerState, Scope};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A plugin is behind when an event or a key has waited for so long: a usual debounce is shorter.
const BEHIND_MIN: Duration = Duration::from_secs(10);
/// Bytes of one reason: a table has it in one cell, and `/plugins` also has each message in full.
const REASON_BYTES_MAX: usize = 512;

impl PluginStatus {
    /// The current problems of the plugin, the most important first: at most eleven reasons of one line each. `informer`
    /// gives the state of a resource's informer for views of these namespaces, and `None` without an informer.
    pub fn why(&self, informer: impl Fn(&str, &Scope) -> Option<InformerState>) -> Vec<String> {
        let informers = self.informers_that_lack(informer);
        let reasons = [
            self.paused(),
            self.state.reason().map(str::to_owned),
            self.load_that_failed(),
            self.file_not_read(),
            self.restricted.clone(),
            self.running.as_ref().and_then(|running| running.settings.not_in_force()),
            self.access.as_ref().and_then(|shown| Some(shown.refused.first()?.why.clone())),
            informers,
            self.failed_sync.clone(),
            self.failures(),
            self.long_call(Instant::now()),
            self.behind(Instant::now()),
        ];
        let line = |reason: String| one_line(&reason, REASON_BYTES_MAX).into_owned();
        reasons.into_iter().flatten().map(line).collect()
    }

    /// Whether a user paused the plugin, as a text.
    pub(crate) fn paused(&self) -> Option<String> {
        let name = self.name.as_str();
        (self.state.not_now() == Some(NotNow::Paused))
            .then(|| format!("paused until `informant plugin resume {name}`"))
    }

    /// A file whose version did not take over. For a plugin that does not run, the state already has the reason.
    fn load_that_failed(&self) -> Option<String> {
        let reason = self.last_load.as_ref()?.reason.as_deref()?;
        let is_said = self.state.reason() == Some(reason);
        match self.running.is_some() {
            true => Some(format!("new version not loaded: {reason}")),
            false => (!is_said).then(|| reason.to_owned()),
        }
    }

    /// A file of the plugin that cannot be read now. For a plugin that does not run, the state may already have the
    /// reason.
    fn file_not_read(&self) -> Option<String> {
        let problem = self.file_problem.as_ref()?;
        let is_said = self.state.reason().is_some_and(|reason| reason.contains(&problem.text));
        let name = problem.path.file_name().unwrap_or_default().to_string_lossy();
        (!is_said).then(|| format!("{name} {}", problem.text))
    }

    /// The resource of each subscription, and its scope of the informer; in the order of `/plugins`.
    pub fn subscribed_scopes(&self) -> Vec<(String, Scope)> {
        let specs = self.running.iter().flat_map(|running| &*running.specs);
        specs.map(|(_, spec)| (spec.resource.to_string(), subscribed_scope(spec))).collect()
    }

    /// The same of the further reads.
    pub fn read_scopes(&self) -> Vec<(String, Scope)> {
        let reads = self.running.iter().flat_map(|running| &*running.reads);
        reads.map(|spec| (spec.resource.to_string(), watched_scope(&spec.namespaces))).collect()
    }

    /// The same of the namespaces, if a `namespaceSelector` needs their labels.
    fn scope_of_namespaces(&self) -> Option<(String, Scope)> {
        let running = self.running.as_ref()?;
        let of_specs = running.specs.iter().map(|(_, spec)| &spec.namespace_selector);
        let mut selectors = of_specs.chain(running.reads.iter().map(|it| &it.namespace_selector));
        let is_needed = selectors.any(Option::is_some) || running.settings.writes.need_namespaces();
        is_needed.then(|| (namespaces().to_string(), namespaces_scope()))
    }

    /// Resources of the version in charge that are not listed or not watched.
    fn informers_that_lack(
        &self,
        informer: impl Fn(&str, &Scope) -> Option<InformerState>,
    ) -> Option<String> {
        let views = self.subscribed_scopes().into_iter().chain(self.read_scopes());
        let views = views.chain(self.scope_of_namespaces());
        let lacking: BTreeSet<String> = views
            .filter_map(|(resource, scope)| {
                let state = informer(&resource, &scope)?;
                let message = state.message().map_or(String::new(), |text| format!(" ({text})"));
                (state != InformerState::Synced)
                    .then(|| format!("{resource} is {}{message}", state.as_str()))
            })
            .collect();
        let lacking: Vec<String> = lacking.into_iter().collect();
        (!lacking.is_empty()).then(|| lacking.join(", "))
    }

    /// Failed calls without a later success, each kind with its newest error.
    fn failures(&self) -> Option<String> {
        let failing = [
            (self.queue.failed, "object", "being retried", self.last_retry.as_deref()),
            (self.keys.failed, "key", "being retried", self.last_key_retry.as_deref()),
            (self.timers.failing, "schedule", "failing", self.timers.last_error.as_deref()),
        ];
        let failing = failing.into_iter().filter(|(n, ..)| *n > 0);
        let failing =
            failing.map(|(n, what, how, error)| (format!("{} {how}", counted(n, what)), error));
        let given_up = self.keys.given_up.last().map(|last| {
            // Earlier keys that were given up are no longer in the list.
            let or_more = if self.keys.given_up.len() == GIVEN_UP_MAX { " or more" } else { "" };
            let keys = counted(self.keys.given_up.len(), "key");
            (format!("{keys}{or_more} given up"), Some(last.error.as_str()))
        });
        let letters = counted(self.dead_letters, "dead letter");
        let letters =
            (self.dead_letters > 0).then_some((letters, self.last_dead_letter.as_deref()));
        let failures: Vec<String> = failing
            .chain(given_up)
            .chain(letters)
            .map(|(what, error)| error.map_or(what.clone(), |error| format!("{what}: {error}")))
            .collect();
        (!failures.is_empty()).then(|| failures.join("; "))
    }

    /// A call that has run for so long that events of a usual plugin would be late. Its deadline counts processor time, so that
    /// an endless loop ends later on a busy machine.
    fn long_call(&self, now: Instant) -> Option<String> {
        let call = self.call.as_ref()?;
        let ran = now.saturating_duration_since(call.since);
        (ran >= BEHIND_MIN)
            .then(|| format!("a call for {} has run for {} s", call.of, ran.as_secs()))
    }

    /// Whether the plugin is too slow. Events behind a failure, a pause or a breaker do not count.
    fn behind(&self, now: Instant) -> Option<String> {
        let age = |since: Option<Instant>| since.map(|since| now.saturating_duration_since(since));
        let is_late = |age: &Duration| *age >= BEHIND_MIN && self.state.takes_events();
        let of_timers = (self.timers.due > 0).then_some(self.timers.age);
        let ages = [age(self.queue.oldest_ready), age(self.keys.oldest), of_timers];
        let waits = ages.into_iter().flatten().max().filter(is_late)?;
        let (events, keys) = (self.queue.ready, self.keys.depth);
        let waiting = [(events, "event"), (keys, "key"), (self.timers.due, "schedule")];
        let waiting = waiting.into_iter().filter(|(n, _)| *n > 0);
        let waiting: Vec<String> = waiting.map(|(n, what)| counted(n, what)).collect();
        let why = self.not_now().map_or(String::new(), |why| format!(" ({})", why.as_str()));
        let seconds = waits.as_secs();
        Some(format!("behind by {seconds} s{why}, with {} to go", enumerated(&waiting)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::key_queue::Worked;
    use crate::delivery::mailbox::Settled;
    use crate::delivery::mailbox::tests::parse;
    use crate::delivery::timers::TimersSnapshot;
    use crate::directory::Problem;
    use crate::event::Event;
    use crate::kept::dead_letters::DeadLetter;
    use crate::plugin::core::PluginCore;
    use crate::plugin::core::tests::core;
    use crate::plugin::lifecycle::Input;
    use informant_cache::workqueue::AddOptions;
    use jiff::Timestamp;
    use std::path::Path;

    fn running() -> PluginCore {
        let (core, now) = (core(), Timestamp::UNIX_EPOCH);
        core.swapped(1, now);
        core.apply([Input::Subscribed], now);
        core
    }

    /// Checks the reason after the plugin's events have waited since `now` for ten minutes.
    #[track_caller]
    fn check_behind(core: &PluginCore, now: Instant, expect: Option<&str>) {
        let later = now + Duration::from_secs(600);
        assert_eq!(PluginStatus::of(core).behind(later).as_deref(), expect);
    }

    #[test]
    fn an_event_behind_a_retry_of_its_own_object_says_nothing_of_the_plugins_pace() {
        let (core, now) = (running(), Instant::now());
        let (queue, again) = (&core.queue, now + Duration::from_secs(30));
        let received = |text: &str| Event { received: now, ..parse(text) };
        queue.push(received("+a1"));
        check_behind(&core, now, Some("behind by 600 s, with 1 event to go"));
        assert!(queue.pop(0, now).is_some());
        queue.settle_event(0, Settled::RetryAt(again), now);
        queue.push(received("~a2"));
        assert!(queue.pop(0, now).is_none(), "it waits behind the retry");
        check_behind(&core, now, None);
        assert!(queue.pop(0, again).is_some());
        check_behind(&core, now, None);
        queue.push(received("+b1"));
        check_behind(&core, now, Some("behind by 600 s, with 1 event to go"));
        queue.settle_event(0, Settled::Finished, again);
        check_behind(&core, now, Some("behind by 600 s, with 2 events to go"));
    }

    #[test]
    fn a_call_that_does_not_end_is_named() {
        let (core, now) = (running(), Instant::now());
        let check = |seconds: u64, expect: Option<&str>| {
            let later = now + Duration::from_secs(seconds);
            assert_eq!(PluginStatus::of(&core).long_call(later).as_deref(), expect);
        };
        core.queue.push(parse("+a1"));
        check(600, None);
        assert!(core.queue.pop(0, now).is_some());
        check(9, None);
        check(18, Some("a call for default/a has run for 18 s"));
        core.queue.settle_event(0, Settled::Finished, now);
        check(600, None);
        core.queue.look(|it| {
            it.keys.add("a", AddOptions::default(), now).expect("there is room");
            it.keys.take(0, now).expect("it waits");
        });
        check(18, Some("a call for the key a has run for 18 s"));
    }

    #[test]
    fn a_moment_that_waits_says_that_the_plugin_is_behind() {
        let core = running();
        let timers = TimersSnapshot { due: 2, age: BEHIND_MIN, ..TimersSnapshot::default() };
        let status = PluginStatus { timers, ..PluginStatus::of(&core) };
        let expect = "behind by 10 s, with 2 schedules to go";
        assert_eq!(status.behind(Instant::now()).as_deref(), Some(expect));
        let timers = TimersSnapshot { age: BEHIND_MIN - Duration::from_millis(1), ..status.timers };
        let status = PluginStatus { timers, ..PluginStatus::of(&core) };
        assert_eq!(status.behind(Instant::now()), None);
    }

    fn give_up(core: &PluginCore, key: &str, error: &str) {
        let now = Instant::now();
        core.queue.look(|mailboxes| {
            let keys = &mut mailboxes.keys;
            keys.add(key, AddOptions::default(), now).expect("there is room");
            keys.take(0, now).expect("it waits");
            keys.settle(0, Worked::GivenUp { error, at: Timestamp::UNIX_EPOCH }, now);
        });
    }

    fn bury(core: &PluginCore, error: &str) {
        core.dead_letters.lock().push(DeadLetter {
            id: 0,
            subscription: "pods".to_owned(),
            resource: "v1/pods".to_owned(),
            event: parse("+a1"),
            attempts: 10,
            parked: false,
            error: error.to_owned(),
            at: Timestamp::UNIX_EPOCH,
        });
    }

    #[track_caller]
    fn check_failures(core: &PluginCore, expect: Option<&str>) {
        assert_eq!(PluginStatus::of(core).failures().as_deref(), expect);
    }

    #[test]
    fn keys_that_were_given_up_are_counted_once_each_and_as_far_as_they_are_known() {
        let core = running();
        (0..GIVEN_UP_MAX).for_each(|number| give_up(&core, "a", &format!("no {number}")));
        check_failures(&core, Some("1 key given up: no 19"));
        (2..GIVEN_UP_MAX).for_each(|number| give_up(&core, &format!("b{number}"), "no"));
        check_failures(&core, Some("19 keys given up: no"));
        (0..1_000).for_each(|number| give_up(&core, &format!("c{number}"), "no"));
        check_failures(&core, Some("20 keys or more given up: no"));
    }

    #[test]
    fn what_failed_is_said_with_its_own_error() {
        let (core, now) = (running(), Instant::now());
        check_failures(&core, None);
        bury(&core, "no disk");
        core.failed("no disk", Timestamp::UNIX_EPOCH);
        // Another object failed once, and its next attempt succeeded.
        core.failed("no answer", Timestamp::UNIX_EPOCH);
        core.event_comes_again("no answer");
        check_failures(&core, Some("1 dead letter: no disk"));
        bury(&core, "no room");
        core.queue.push(parse("+b1"));
        assert!(core.queue.pop(0, now).is_some());
        core.queue.settle_event(0, Settled::RetryAt(now), now);
        check_failures(&core, Some("1 object being retried: no answer; 2 dead letters: no room"));
        give_up(&core, "a", "no such key");
        let all = "1 object being retried: no answer; 1 key given up: no such key; 2 dead letters: no room";
        check_failures(&core, Some(all));
    }

    #[test]
    fn each_kind_of_retry_is_said_with_its_own_error() {
        let (core, now) = (running(), Instant::now());
        core.queue.push(parse("+a1"));
        assert!(core.queue.pop(0, now).is_some());
        core.queue.settle_event(0, Settled::RetryAt(now), now);
        core.event_comes_again("no answer");
        core.queue.look(|it| {
            it.keys.add("a", AddOptions::default(), now).expect("there is room");
            it.keys.take(0, now).expect("it waits");
            it.keys.settle(0, Worked::Failed { after: None, crashed: false }, now);
        });
        core.key_comes_again("a", "no such key");
        let last_error = Some("too late".into());
        let timers = TimersSnapshot { failing: 2, last_error, ..TimersSnapshot::default() };
        let status = PluginStatus { timers, ..PluginStatus::of(&core) };
        let all = "1 object being retried: no answer; 1 key being retried: reconcile a: no such key; 2 schedules failing: too late";
        assert_eq!(status.failures().as_deref(), Some(all));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_said_once() {
        let problem = || Some(Problem::new(Path::new("/p/p.yaml"), "changes at every look"));
        let said = |core: &PluginCore| {
            PluginStatus::of(core).with_file_problem(problem()).why(|_, _| None)
        };
        assert_eq!(said(&running()), ["p.yaml changes at every look"]);
        let refused = core();
        let reason = "p.yaml: it changes at every look".to_owned();
        refused.apply([Input::LoadFailed { reason: reason.clone() }], Timestamp::UNIX_EPOCH);
        assert_eq!(said(&refused), [reason]);
    }
}
