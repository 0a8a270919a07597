//! What has changed and is not in the file yet: a synchronous cupboard between those who say so and the thread that writes.
//!
//! Only the last word on each place is kept, and none on a place where the file has nothing and is to have nothing. So what waits is
//! bounded by what is kept of each plugin, which its own bounds hold down, and by what the file has of it: however long the disk takes
//! nothing, and whatever other plugins do.

use super::{Changes, Content, Kept, Place};
use crate::plugin_name::PluginName;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Debug, Default)]
pub(super) struct Pending {
    changes: Changes,
    bytes: usize,
    /// What is being written, or may have been: it is in the file as a whole or not at all.
    taken: Option<Arc<Changes>>,
    taken_bytes: usize,
    in_file: InFile,
}

/// Where the file has something of the plugins that were read.
#[derive(Debug, Default)]
struct InFile {
    places: BTreeSet<(PluginName, Place)>,
    /// How much that is of each; none of those of which it is nothing.
    counts: BTreeMap<PluginName, OnDisk>,
}

/// How much of one plugin is on the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OnDisk {
    pub(crate) retries: usize,
    pub(crate) letters: usize,
}

impl OnDisk {
    /// What is filed there counts, or does no more.
    fn count(&mut self, place: &Place, is_there: bool) {
        let count = match place {
            Place::Retry { .. } => &mut self.retries,
            Place::Letter(_) => &mut self.letters,
            Place::Head | Place::State(_) => return,
        };
        *count = if is_there { *count + 1 } else { *count - 1 };
    }
}

impl InFile {
    fn insert(&mut self, place: (PluginName, Place)) {
        if !self.places.contains(&place) {
            self.counts.entry(place.0.clone()).or_default().count(&place.1, true);
            self.places.insert(place);
        }
    }

    fn remove(&mut self, place: &(PluginName, Place)) {
        if !self.places.remove(place) {
            return;
        }
        let Some(count) = self.counts.get_mut(&place.0) else { return };
        count.count(&place.1, false);
        if *count == OnDisk::default() {
            self.counts.remove(&place.0);
        }
    }
}

impl Pending {
    pub(super) fn put(&mut self, changes: Changes) {
        for (place, content) in changes {
            self.insert(place, content);
        }
    }

    fn insert(&mut self, place: (PluginName, Place), content: Option<Content>) {
        if let Some((place, before)) = self.changes.remove_entry(&place) {
            self.bytes -= size(&place, before.as_ref());
        }
        if content.is_some() || self.may_be_in_file(&place) {
            self.bytes += size(&place, content.as_ref());
            self.changes.insert(place, content);
        }
    }

    fn may_be_in_file(&self, place: &(PluginName, Place)) -> bool {
        let is_taken = |taken: &Arc<Changes>| matches!(taken.get(place), Some(Some(_)));
        self.in_file.places.contains(place) || self.taken.as_ref().is_some_and(is_taken)
    }

    /// What is to be written now, which is not forgotten before [`written`](Self::written) or [`put_back`](Self::put_back).
    pub(super) fn take(&mut self) -> Arc<Changes> {
        let changes = Arc::new(std::mem::take(&mut self.changes));
        self.taken_bytes = std::mem::take(&mut self.bytes);
        self.taken = Some(changes.clone());
        changes
    }

    /// What was taken is in the file.
    pub(super) fn written(&mut self) {
        let Some(taken) = self.forget_taken() else { return };
        for (place, content) in taken.iter() {
            match content {
                Some(_) => self.in_file.insert(place.clone()),
                None => self.in_file.remove(place),
            }
        }
    }

    /// What was taken is not in the file. What was said since counts more.
    pub(super) fn put_back(&mut self) {
        let Some(taken) = self.forget_taken() else { return };
        for (place, content) in Arc::unwrap_or_clone(taken) {
            match self.changes.get(&place) {
                None => self.insert(place, content),
                // There may be nothing to be removed any more.
                Some(None) => self.insert(place, None),
                Some(Some(_)) => {}
            }
        }
    }

    fn forget_taken(&mut self) -> Option<Arc<Changes>> {
        self.taken_bytes = 0;
        self.taken.take()
    }

    /// The file has this of a plugin.
    pub(super) fn found(&mut self, plugin: &PluginName, kept: &Kept) {
        let retries = kept.retries.iter().map(|(subscription, waiting)| {
            let (subscription, key) = (subscription.clone(), waiting.event.object.key().clone());
            Place::Retry { subscription, key }
        });
        let letters = kept.letters.iter().map(|letter| Place::Letter(letter.id));
        let state = kept.state.keys().cloned().map(Place::State);
        let places = retries.chain(letters).chain(state);
        places.for_each(|place| self.in_file.insert((plugin.clone(), place)));
    }

    /// The file has nothing of these plugins any more.
    pub(super) fn removed(&mut self, plugins: &[String]) {
        let stays = |plugin: &PluginName| plugins.iter().all(|removed| plugin.as_str() != removed);
        self.in_file.places.retain(|(plugin, _)| stays(plugin));
        self.in_file.counts.retain(|plugin, _| stays(plugin));
    }

    /// How much of a plugin is on the disk, whatever is about to change there.
    pub(super) fn on_disk(&self, plugin: &PluginName) -> OnDisk {
        self.in_file.counts.get(plugin).copied().unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// How many changes wait, and their bytes, with those that are being written.
    pub(super) fn size(&self) -> (usize, usize) {
        let taken = self.taken.as_ref().map_or(0, |taken| taken.len());
        (self.changes.len() + taken, self.bytes + self.taken_bytes)
    }
}

/// Bytes of a change with its place.
fn size(place: &(PluginName, Place), content: Option<&Content>) -> usize {
    place.1.size() + content.map_or(0, Content::size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// `a3` puts three MiB at `a`, `a-` empties it; `+` joins what belongs together.
    fn changes(text: &str) -> Changes {
        let change = |word: &str| {
            let (place, size) = word.split_at(1);
            let plugin: PluginName = "p".parse().expect("a name");
            let content = size.parse::<usize>().ok();
            let content = content.map(|size| Content::State(Bytes::from(vec![0; size << 20])));
            ((plugin, Place::State(place.into())), content)
        };
        text.split('+').map(change).collect()
    }

    fn show(changes: &Changes) -> String {
        let shown = changes.iter().map(|((_, place), content)| {
            let Place::State(place) = place else { panic!("{place:?} was not put") };
            let size = content.as_ref().map(|content| content.size() >> 20);
            format!("{place}{}", size.map_or("-".to_owned(), |size| size.to_string()))
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    /// Puts, `take`s, has `written` and puts `back`, and shows what waits then.
    #[track_caller]
    fn check(steps: &str, expect: &str) {
        let mut pending = Pending::default();
        for step in steps.split(' ') {
            match step {
                "take" => _ = pending.take(),
                "written" => pending.written(),
                "back" => pending.put_back(),
                put => pending.put(changes(put)),
            }
            let bytes: usize =
                pending.changes.iter().map(|(place, content)| size(place, content.as_ref())).sum();
            assert_eq!(pending.bytes, bytes, "{steps} at {step}");
        }
        assert_eq!(show(&pending.changes), expect, "{steps}");
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
        let mut pending = Pending::default();
        pending.put(changes("a1+b1"));
        for number in 0..1_000u32 {
            let place = Place::State(number.to_string().into());
            let place = ("p".parse().expect("a name"), place);
            let content = Some(Content::State(Bytes::from_static(b"value")));
            pending.put([(place.clone(), content)].into());
            // As often as not it is about to be written when it goes.
            if number % 2 == 0 {
                pending.take();
            }
            pending.put([(place, None)].into());
            pending.put_back();
            assert_eq!(show(&pending.changes), "a1 b1");
        }
        assert_eq!(pending.size().0, 2);
        assert!(pending.in_file.places.is_empty() && pending.in_file.counts.is_empty());
    }

    #[test]
    fn what_is_on_the_disk_is_counted_once_it_is_there_and_until_it_is_not() {
        let plugin: PluginName = "p".parse().expect("a name");
        let letter = |id: u64, content: Option<Content>| -> Changes {
            [((plugin.clone(), Place::Letter(id)), content)].into()
        };
        // What it is does not matter here.
        let content = || Some(Content::State(Bytes::new()));
        let mut pending = Pending::default();
        let letters = |pending: &Pending| pending.on_disk(&plugin).letters;
        pending.put(letter(1, content()));
        pending.take();
        assert_eq!(letters(&pending), 0, "it is being written");
        pending.put_back();
        pending.put(letter(2, content()));
        pending.take();
        pending.written();
        assert_eq!(letters(&pending), 2);
        pending.put(letter(1, None));
        pending.put(letter(2, content()));
        assert_eq!(letters(&pending), 2, "as long as it is there");
        pending.take();
        pending.written();
        assert_eq!(letters(&pending), 1);
        pending.removed(&["p".to_owned()]);
        assert_eq!(pending.on_disk(&plugin), OnDisk::default());
    }
}
