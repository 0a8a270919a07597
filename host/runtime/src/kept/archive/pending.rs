//! Changes that are not in the file yet, between plugins' tasks and the thread that writes. Synchronous.
//!
//! Only the last change of each place is kept, and none for a place that is empty in the file and stays empty. So the
//! kept data of each plugin, which has its own bounds, and the plugin's records in the file bound the waiting changes.
//! This holds however long the disk fails, and whatever other plugins do.

use super::paces::{Paces, cost};
use super::{ArchiveKey, ArchiveValue, Changes, Kept};
use crate::plugin_name::PluginName;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(super) struct Pending {
    waiting: BTreeMap<PluginName, PendingPlugin>,
    /// The changes that are being written, or may have been: all of them are in the file, or none.
    taken: Option<TakenChanges>,
    /// The records in the file of each plugin that was read. A plugin without an entry may have any: it was not read, or
    /// its file is gone.
    in_file: BTreeMap<PluginName, KnownRecords>,
    /// The plugins whose files are there; `None` before the first scan of the directories.
    present: Option<BTreeSet<PluginName>>,
    paces: Paces,
}

/// The waiting changes of one plugin. They are written together, because some depend on each other.
#[derive(Debug, Default)]
struct PendingPlugin {
    changes: BTreeMap<ArchiveKey, Option<ArchiveValue>>,
    bytes: usize,
    /// The plugin's rate of writes.
    bytes_per_second: u32,
}

#[derive(Debug)]
struct TakenChanges {
    changes: Arc<Changes>,
    bytes: usize,
    /// The rates of the plugins in this transaction, and the costs of their parts.
    costs: BTreeMap<PluginName, (u32, usize)>,
}

/// The occupied places of one plugin in the file, and the number of its records.
#[derive(Debug, Default)]
struct KnownRecords {
    places: BTreeSet<ArchiveKey>,
    on_disk: OnDisk,
}

/// The records of one plugin on the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OnDisk {
    pub(crate) retries: usize,
    pub(crate) letters: usize,
}

impl OnDisk {
    /// Counts a record that was added or removed.
    fn count(&mut self, place: &ArchiveKey, is_there: bool) {
        let count = match place {
            ArchiveKey::Retry { .. } => &mut self.retries,
            ArchiveKey::Letter(_) => &mut self.letters,
            ArchiveKey::Head | ArchiveKey::State(_) => return,
        };
        *count = if is_there { *count + 1 } else { *count - 1 };
    }
}

impl KnownRecords {
    fn insert(&mut self, place: ArchiveKey) {
        if !self.places.contains(&place) {
            self.on_disk.count(&place, true);
            self.places.insert(place);
        }
    }

    fn remove(&mut self, place: &ArchiveKey) {
        if self.places.remove(place) {
            self.on_disk.count(place, false);
        }
    }
}

impl Pending {
    /// Adds changes, with the rate of their plugin.
    pub(super) fn put(&mut self, changes: Changes, bytes_per_second: u32) {
        for ((plugin, place), content) in changes {
            self.insert(plugin, place, content, bytes_per_second);
        }
    }

    fn insert(
        &mut self,
        plugin: PluginName,
        place: ArchiveKey,
        content: Option<ArchiveValue>,
        bytes_per_second: u32,
    ) {
        let place = (plugin, place);
        let is_kept = content.is_some() || self.may_be_in_file(&place);
        let (plugin, place) = place;
        let part = self.waiting.entry(plugin.clone()).or_default();
        part.bytes_per_second = bytes_per_second;
        if let Some((place, before)) = part.changes.remove_entry(&place) {
            part.bytes -= size(&place, before.as_ref());
        }
        if is_kept {
            part.bytes += size(&place, content.as_ref());
            part.changes.insert(place, content);
        }
        if part.changes.is_empty() {
            self.waiting.remove(&plugin);
        }
    }

    fn may_be_in_file(&self, place: &(PluginName, ArchiveKey)) -> bool {
        let is_taken = |taken: &TakenChanges| matches!(taken.changes.get(place), Some(Some(_)));
        let in_file = self.in_file.get(&place.0);
        in_file.is_none_or(|in_file| in_file.places.contains(&place.1))
            || self.taken.as_ref().is_some_and(is_taken)
    }

    /// Whether changes of the plugin wait.
    pub(super) fn has(&self, plugin: &PluginName) -> bool {
        self.waiting.contains_key(plugin)
    }

    /// How long until the next write; `None` if no change waits.
    pub(super) fn wait(&mut self, now: Instant) -> Option<Duration> {
        let paces = &mut self.paces;
        let of = |(plugin, part): (&PluginName, &PendingPlugin)| {
            paces.wait(plugin, part.bytes_per_second, now)
        };
        self.waiting.iter().map(of).min()
    }

    /// Takes the changes to write now, or all of them. They are kept until [`written`](Self::written) or
    /// [`put_back`](Self::put_back).
    pub(super) fn take(&mut self, everything: bool, now: Instant) -> Arc<Changes> {
        let (mut changes, mut costs, mut bytes) = (Changes::new(), BTreeMap::new(), 0);
        let paces = &mut self.paces;
        let is_due = |plugin: &PluginName, part: &mut PendingPlugin| {
            everything || paces.wait(plugin, part.bytes_per_second, now).is_zero()
        };
        for (plugin, part) in self.waiting.extract_if(.., is_due) {
            bytes += part.bytes;
            let cost = cost(part.changes.len(), part.bytes);
            costs.insert(plugin.clone(), (part.bytes_per_second, cost));
            let placed = |(place, content)| ((plugin.clone(), place), content);
            changes.extend(part.changes.into_iter().map(placed));
        }
        let changes = Arc::new(changes);
        self.taken = Some(TakenChanges { changes: changes.clone(), bytes, costs });
        changes
    }

    /// The taken changes are in the file.
    pub(super) fn written(&mut self, now: Instant) {
        let Some(taken) = self.taken.take() else { return };
        for ((plugin, place), content) in taken.changes.iter() {
            let Some(in_file) = self.in_file.get_mut(plugin) else { continue };
            match content {
                Some(_) => in_file.insert(place.clone()),
                None => in_file.remove(place),
            }
        }
        for (plugin, (bytes_per_second, cost)) in &taken.costs {
            self.paces.spend(plugin, *bytes_per_second, *cost, now);
            if !self.is_needed(plugin) {
                self.in_file.remove(plugin);
            }
        }
    }

    /// The taken changes are not in the file. Newer changes of the same places count more.
    pub(super) fn put_back(&mut self) {
        let Some(TakenChanges { changes, costs, .. }) = self.taken.take() else { return };
        for ((plugin, place), content) in Arc::unwrap_or_clone(changes) {
            let part = self.waiting.get(&plugin);
            let since = part.and_then(|part| part.changes.get(&place));
            let content = match since {
                None => content,
                // The place may be empty already.
                Some(None) => None,
                Some(Some(_)) => continue,
            };
            let of_part = part.map(|part| part.bytes_per_second);
            let rate = of_part.or_else(|| costs.get(&plugin).map(|(rate, _)| *rate));
            self.insert(plugin, place, content, rate.unwrap_or(u32::MAX));
        }
    }

    /// Notes the records of a plugin in the file.
    pub(super) fn found(&mut self, plugin: &PluginName, kept: &Kept) {
        let retries = kept.retries.iter().map(|(subscription, waiting)| {
            let (subscription, key) = (subscription.clone(), waiting.event.object.key().clone());
            ArchiveKey::Retry { subscription, key }
        });
        let letters = kept.letters.iter().map(|letter| ArchiveKey::Letter(letter.id));
        let state = kept.state.keys().cloned().map(ArchiveKey::State);
        let in_file = self.in_file.entry(plugin.clone()).or_default();
        retries.chain(letters).chain(state).for_each(|place| in_file.insert(place));
    }

    /// Sets the plugins whose files are there. The records of others are forgotten, else each name that ever was would
    /// take memory as long as its data is kept.
    pub(super) fn set_present(&mut self, plugins: BTreeSet<PluginName>) {
        self.present = Some(plugins);
        let mut in_file = std::mem::take(&mut self.in_file);
        in_file.retain(|plugin, _| self.is_needed(plugin));
        self.in_file = in_file;
    }

    pub(super) fn present(&self) -> Option<&BTreeSet<PluginName>> {
        self.present.as_ref()
    }

    /// Whether the plugin's records in the file are to be known: its file is there, or changes of it wait.
    fn is_needed(&self, plugin: &PluginName) -> bool {
        let is_present = self.present.as_ref().is_none_or(|present| present.contains(plugin));
        let is_taken = |taken: &TakenChanges| taken.costs.contains_key(plugin);
        is_present || self.has(plugin) || self.taken.as_ref().is_some_and(is_taken)
    }

    /// The records of a plugin on the disk, without the waiting changes.
    pub(super) fn on_disk(&self, plugin: &PluginName) -> OnDisk {
        self.in_file.get(plugin).map(|in_file| in_file.on_disk).unwrap_or_default()
    }

    /// The number of waiting changes and their bytes, with those that are being written.
    pub(super) fn size(&self) -> (usize, usize) {
        let taken = self.taken.as_ref().map_or((0, 0), |taken| (taken.changes.len(), taken.bytes));
        let parts = self.waiting.values().map(|part| (part.changes.len(), part.bytes));
        parts.fold(taken, |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }
}

/// Bytes of a change with its place.
fn size(place: &ArchiveKey, content: Option<&ArchiveValue>) -> usize {
    place.size() + content.map_or(0, ArchiveValue::size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// `a3` puts three MiB at `a`, and `a-` empties it; `+` joins changes that belong together.
    fn changes(text: &str) -> Changes {
        let change = |word: &str| {
            let (place, size) = word.split_at(1);
            let plugin: PluginName = "p".parse().expect("a name");
            let content = size.parse::<usize>().ok();
            let content = content.map(|size| ArchiveValue::State(Bytes::from(vec![0; size << 20])));
            ((plugin, ArchiveKey::State(place.into())), content)
        };
        text.split('+').map(change).collect()
    }

    /// A plugin of which the file has nothing, as is known.
    fn known() -> (PluginName, Pending, Instant) {
        let (plugin, mut pending) = ("p".parse().expect("a name"), Pending::default());
        pending.found(&plugin, &Kept::default());
        (plugin, pending, Instant::now())
    }

    /// All changes are written at once.
    const RATE: u32 = u32::MAX;

    fn show(pending: &Pending) -> String {
        let changes = pending.waiting.values().flat_map(|part| &part.changes);
        let shown = changes.map(|(place, content)| {
            let ArchiveKey::State(place) = place else { panic!("{place:?} was not put") };
            let size = content.as_ref().map(|content| content.size() >> 20);
            format!("{place}{}", size.map_or("-".to_owned(), |size| size.to_string()))
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    /// Puts changes, `take`s them, marks them `written` or puts them `back`, and shows the waiting changes.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let (_, mut pending, now) = known();
        for step in steps.split(' ') {
            match step {
                "take" => _ = pending.take(true, now),
                "written" => pending.written(now),
                "back" => pending.put_back(),
                put => pending.put(changes(put), RATE),
            }
            for part in pending.waiting.values() {
                let sizes = part.changes.iter().map(|(place, it)| size(place, it.as_ref()));
                assert_eq!(part.bytes, sizes.sum::<usize>(), "{steps} at {step}");
            }
        }
        assert_eq!(show(&pending), expect, "{steps}");
    }

    #[test]
    fn the_last_word_on_a_place_counts() {
        check("a3 b1 a2", "a2 b1");
        check("a3 take a2 back", "a2");
        check("a3 b1 take a2 back", "a2 b1");
        check("a3 take written a-", "a-");
        check("a3 take written a- a1", "a1");
        check("a3 take a- written", "a-");
        check("a3+b2 take written a- take b- back", "a- b-");
    }

    #[test]
    fn what_the_file_never_had_is_not_removed_from_it() {
        check("a3 b1 b-", "a3");
        check("a3 take a- back", "");
        check("a3 take written a- take written a-", "");
        check("a3 take written a- take a1 a- back", "a-");
        check("a-+b2", "b2");
    }

    #[test]
    fn what_comes_and_goes_while_the_disk_takes_nothing_leaves_nothing_behind() {
        let (plugin, mut pending, now) = known();
        pending.put(changes("a1+b1"), RATE);
        for number in 0..1_000u32 {
            let place = ArchiveKey::State(number.to_string().into());
            let place = (plugin.clone(), place);
            let content = Some(ArchiveValue::State(Bytes::from_static(b"value")));
            pending.put([(place.clone(), content)].into(), RATE);
            // Half of the changes are being written when their plugin is removed.
            if number % 2 == 0 {
                pending.take(true, now);
            }
            pending.put([(place, None)].into(), RATE);
            pending.put_back();
            assert_eq!(show(&pending), "a1 b1");
        }
        assert_eq!(pending.size().0, 2);
        assert!(pending.in_file[&plugin].places.is_empty());
    }

    #[test]
    fn what_is_on_the_disk_is_counted_once_it_is_there_and_until_it_is_not() {
        let (plugin, mut pending, now) = known();
        let letter = |id: u64, content: Option<ArchiveValue>| -> Changes {
            [((plugin.clone(), ArchiveKey::Letter(id)), content)].into()
        };
        // The content does not matter here.
        let content = || Some(ArchiveValue::State(Bytes::new()));
        let letters = |pending: &Pending| pending.on_disk(&plugin).letters;
        pending.put(letter(1, content()), RATE);
        pending.take(true, now);
        assert_eq!(letters(&pending), 0, "it is being written");
        pending.put_back();
        pending.put(letter(2, content()), RATE);
        pending.take(true, now);
        pending.written(now);
        assert_eq!(letters(&pending), 2);
        pending.put(letter(1, None), RATE);
        pending.put(letter(2, content()), RATE);
        assert_eq!(letters(&pending), 2, "as long as it is there");
        pending.take(true, now);
        pending.written(now);
        assert_eq!(letters(&pending), 1);
    }

    /// Otherwise ever new names of plugins would take more and more memory.
    #[test]
    fn nothing_of_the_file_is_known_of_a_plugin_that_is_gone_once_its_changes_are_written() {
        let (plugin, mut pending, now) = known();
        pending.put(changes("a1+b1"), RATE);
        pending.set_present(BTreeSet::new());
        pending.take(true, now);
        pending.set_present(BTreeSet::new());
        assert!(!pending.in_file.is_empty(), "it is being written");
        pending.written(now);
        assert!(pending.in_file.is_empty());
        pending.put(changes("a-+c1+c-"), RATE);
        assert_eq!(show(&pending), "a- c-", "a record that is not known may be there");
        pending.take(true, now);
        pending.written(now);
        assert!(pending.in_file.is_empty());
        pending.found(&plugin, &Kept::default());
        pending.set_present([plugin.clone()].into());
        pending.put(changes("a-"), RATE);
        assert_eq!(show(&pending), "");
        pending.set_present(BTreeSet::new());
        assert!(pending.in_file.is_empty());
    }

    /// Two plugins on one disk for ten seconds: `busy` writes a new value every ms, `calm` one a second. Checks the
    /// written bytes of each in terms of cost, the number of writes, and the longest wait of `calm`.
    #[test]
    fn a_plugin_has_so_much_written_a_second_and_no_more() {
        let rate = 1 << 20;
        let value = |number: u64| Some(ArchiveValue::State(number.to_string().into()));
        let place =
            |plugin: &str| (plugin.parse().expect("a name"), ArchiveKey::State("key".into()));
        let (mut pending, began) = (Pending::default(), Instant::now());
        let (mut busy, mut calm) = ((0, 0), 0);
        let mut last = None;
        for ms in 0..10_000 {
            let now = began + Duration::from_millis(ms);
            pending.put([(place("busy"), value(ms))].into(), rate);
            if ms % 1_000 == 500 {
                pending.put([(place("calm"), value(ms))].into(), rate);
            }
            if pending.wait(now) != Some(Duration::ZERO) {
                continue;
            }
            let written = pending.take(false, now);
            if let Some(Some(ArchiveValue::State(value))) = written.get(&place("busy")) {
                let bytes = size(&place("busy").1, None) + value.len();
                busy = (busy.0 + cost(1, bytes), busy.1 + 1);
                last = Some(value.clone());
            }
            // At once, however much another plugin writes.
            let is_written = matches!(written.get(&place("calm")), Some(Some(_)));
            assert_eq!(is_written, ms % 1_000 == 500, "at {ms} ms");
            calm += usize::from(is_written);
            pending.written(now);
        }
        let most = 11 * rate as usize + cost(1, 200);
        assert!((10 * rate as usize..most).contains(&busy.0), "{busy:?}");
        assert!(busy.1 < 350, "so few transactions: {busy:?}");
        assert_eq!(calm, 10);
        // The newest value is on the disk in the end.
        let end = began + Duration::from_secs(11);
        let written = pending.take(false, end);
        let Some(Some(ArchiveValue::State(value))) = written.get(&place("busy")) else {
            return assert_eq!(last.as_deref(), Some(&b"9999"[..]));
        };
        assert_eq!(&value[..], b"9999");
    }

    #[test]
    fn what_waits_for_its_pace_is_written_at_the_end() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        for round in ["a3", "a2"] {
            pending.put(changes(round), 1 << 20);
            pending.take(true, now);
            pending.written(now);
        }
        pending.put(changes("a1"), 1 << 20);
        assert!(
            pending.wait(now) > Some(Duration::from_secs(3)),
            "five seconds' worth was written"
        );
        assert!(pending.take(false, now).is_empty());
        pending.put_back();
        assert_eq!(pending.take(true, now).len(), 1);
    }

    /// Otherwise a failing disk would let a plugin wait longer and longer.
    #[test]
    fn what_was_not_written_is_not_paid_for() {
        let (mut pending, now) = (Pending::default(), Instant::now());
        pending.put(changes("a9"), 1 << 20);
        for _ in 0..10 {
            assert_eq!(pending.take(false, now).len(), 1);
            pending.put_back();
            assert_eq!(pending.wait(now), Some(Duration::ZERO));
        }
    }
}
