//! Why a plugin does not do all that it is there for: WHY of `informant plugin list`, and `why` in `/plugins`.

use super::PluginStatus;
use crate::counted::counted;
use crate::lifecycle::State;
use crate::one_line::one_line;
use informant_cache::InformerState;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A plugin is behind when an event or a key has waited for so long: no debounce that is usual takes that long.
const BEHIND_MIN: Duration = Duration::from_secs(10);
/// Bytes of one reason: a table has it in one cell, and `/plugins` has each message in full beside it.
const REASON_BYTES_MAX: usize = 512;

impl PluginStatus {
    /// Everything of the plugin that does not work now, what matters most first: at most nine reasons of a line each. `informer` says how the informer
    /// of a resource does for views of these namespaces; none where there is no informer.
    pub fn why(
        &self,
        informer: impl Fn(&str, &BTreeSet<String>) -> Option<InformerState>,
    ) -> Vec<String> {
        let informers = self.informers_that_lack(informer);
        let reasons = [
            self.paused(),
            self.state.reason().map(str::to_owned),
            self.load_that_failed(),
            self.restricted.clone(),
            self.running.as_ref().and_then(|running| running.settings.not_in_force()),
            self.access.as_ref().and_then(|shown| Some(shown.refused.first()?.why.clone())),
            informers,
            self.failures(),
            self.behind(),
        ];
        let line = |reason: String| one_line(&reason, REASON_BYTES_MAX).into_owned();
        reasons.into_iter().flatten().map(line).collect()
    }

    fn paused(&self) -> Option<String> {
        let name = self.name.as_str();
        matches!(self.state, State::Paused { .. })
            .then(|| format!("paused until `informant plugin resume {name}`"))
    }

    /// A file that is not the version in charge. That of a plugin that does not run is the reason of its state.
    fn load_that_failed(&self) -> Option<String> {
        let reason = self.last_load.as_ref()?.reason.as_deref()?;
        let is_said = self.state.reason() == Some(reason);
        match self.running.is_some() {
            true => Some(format!("new version not loaded: {reason}")),
            false => (!is_said).then(|| reason.to_owned()),
        }
    }

    /// Resources of the version in charge that are not listed or not followed.
    fn informers_that_lack(
        &self,
        informer: impl Fn(&str, &BTreeSet<String>) -> Option<InformerState>,
    ) -> Option<String> {
        let running = self.running.as_ref()?;
        let subscribed = running.subscriptions.iter();
        let subscribed = subscribed.map(|(_, resource, namespaces)| (resource, namespaces));
        let read = running.reads.iter().map(|(resource, namespaces)| (resource, namespaces));
        let lacking: BTreeSet<String> = subscribed
            .chain(read)
            .filter_map(|(resource, namespaces)| {
                let state = informer(resource, namespaces)?;
                let message = state.message().map_or(String::new(), |text| format!(" ({text})"));
                (state != InformerState::Synced)
                    .then(|| format!("{resource} is {}{message}", state.as_str()))
            })
            .collect();
        let lacking: Vec<String> = lacking.into_iter().collect();
        (!lacking.is_empty()).then(|| lacking.join(", "))
    }

    /// Calls that have failed and did not succeed since, with the last error.
    fn failures(&self) -> Option<String> {
        let firings = self.failing_schedules.len();
        let of = [
            (self.queue.failed, "object", "being retried"),
            (self.keys.failed, "key", "being retried"),
            (firings, "schedule", "failing"),
            (self.keys.given_up.len(), "key", "given up"),
            (self.dead_letters, "dead letter", ""),
        ];
        let failures: Vec<String> = of
            .into_iter()
            .filter(|(n, ..)| *n > 0)
            .map(|(n, what, how)| format!("{} {how}", counted(n, what)).trim_end().to_owned())
            .collect();
        let error = self.last_error.as_ref().map(|(text, _)| format!(": {text}"));
        (!failures.is_empty())
            .then(|| format!("{}{}", failures.join(", "), error.unwrap_or_default()))
    }

    /// What waits behind a failure, a pause or a breaker is no sign that the plugin is too slow.
    fn behind(&self) -> Option<String> {
        let age = |since: Option<Instant>| since.map(|since| since.elapsed());
        let untried = self.queue.depth.saturating_sub(self.queue.failed);
        let events = age(self.queue.oldest).filter(|_| untried > 0);
        let is_late = |age: &Duration| *age >= BEHIND_MIN && self.state.takes_events();
        let waits = events.max(age(self.keys.oldest)).filter(is_late)?;
        let waiting = [(untried, "event"), (self.keys.depth, "key")];
        let waiting = waiting.into_iter().filter(|(n, _)| *n > 0);
        let waiting: Vec<String> = waiting.map(|(n, what)| counted(n, what)).collect();
        let why = if self.queue.is_rate_limited { " (rateLimit)" } else { "" };
        let seconds = waits.as_secs();
        Some(format!("behind by {seconds} s{why}, with {} to go", waiting.join(" and ")))
    }
}
