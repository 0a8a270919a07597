//! When a store trains the dictionary that its objects are packed with, and which objects are packed anew.
//!
//! Decides only; the writer carries out. Before there is a dictionary objects are packed without one, four times as
//! large. The first is trained once there is enough to learn from. It is replaced when what is packed with it takes
//! much more room than what it was made for: a list comes in the order of names, so the first objects may be unlike the
//! rest. Objects hold the dictionary they were packed with: an old one is gone when they are, or are packed anew.

use crate::object::{Object, ObjectKey, Packing, Siblings};

/// A dictionary of objects that are fewer, or shorter in sum, would not pay for itself: its two halves take 100 KiB.
const TRAINED_OBJECTS_MIN: usize = 32;
const TRAINED_BYTES_MIN: usize = 256 << 10;
/// While the first list still comes, more are waited for: a dictionary is better for having seen more of it. They take a
/// few MiB at most meanwhile.
const TRAINED_OBJECTS_LISTING: usize = 512;
const TRAINED_BYTES_LISTING: usize = 4 << 20;
/// Objects that it learns from, at equal distances over the store, and bytes of each. Longer objects pack well without.
const SAMPLES_MAX: usize = 128;
const SAMPLE_BYTES_MAX: usize = 16 << 10;
/// Bytes of a dictionary, of a store below and above the bytes of JSON.
const DICTIONARY_SMALL: usize = 16 << 10;
const DICTIONARY_LARGE: usize = 64 << 10;
const LARGE_STORE_BYTES: usize = 4 << 20;
/// Objects packed between two looks at what the dictionary is still worth, unless the store has grown.
const LOOK_OBJECTS: usize = 16 << 10;
/// What a dictionary is judged by has to be at least one in so many bytes of the store's text.
const JUDGED_SHARE: usize = 64;
/// How much worse it has become, in percent of what it was, when it is replaced.
const WORSE_PERCENT: usize = 125;

/// Bytes of JSON and what was kept of them.
#[derive(Clone, Copy, Debug, Default)]
struct Ratio {
    objects: usize,
    plain: usize,
    kept: usize,
}

impl Ratio {
    fn note(&mut self, object: &Object) {
        self.objects += 1;
        // Edits say nothing of a dictionary.
        if let Some(packed) = object.packed_len() {
            self.plain += object.json_len();
            self.kept += packed;
        }
    }

    /// Whether this many bytes are kept of the plain ones, and more than a quarter above the other's share.
    fn is_worse_than(self, other: Self) -> bool {
        self.kept as u128 * other.plain as u128 * 100
            > other.kept as u128 * self.plain as u128 * WORSE_PERCENT as u128
    }
}

/// What a store holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holds {
    pub(super) objects: usize,
    /// Bytes of JSON, as text.
    pub(super) plain: usize,
    /// Whether the first list is complete.
    pub(super) listed: bool,
}

/// Packs the objects of one store.
#[derive(Debug, Default)]
pub(super) struct Packer {
    packing: Option<Packing>,
    siblings: Siblings,
    /// What the dictionary was made for: the objects that were there when it was trained.
    made_for: Ratio,
    /// Since the last look.
    since: Ratio,
    /// At the last look.
    looked_at: Option<Holds>,
    /// The last object that was packed anew; none where nothing is to be.
    anew: Option<Option<ObjectKey>>,
}

impl Packer {
    /// The object as a store of `plain` bytes of text keeps it, in the place of an earlier version if there is one.
    pub(super) fn pack(&mut self, object: &Object, old: Option<&Object>, plain: usize) -> Object {
        let packed = self.siblings.pack(object, old, self.packing.as_ref(), plain);
        self.since.note(&packed);
        packed
    }

    /// The object packed with the dictionary of now.
    pub(super) fn pack_anew(&mut self, object: &Object, plain: usize) -> Object {
        let object = object.to_be_read();
        let packed = self.siblings.pack(&object, None, self.packing.as_ref(), plain);
        self.made_for.note(&packed);
        packed
    }

    /// Whether the object was packed with another dictionary than the one of now.
    pub(super) fn is_old(&self, object: &Object) -> bool {
        self.packing.as_ref().is_some_and(|packing| !object.is_packed_with(packing))
    }

    /// Whether it is time to train a dictionary.
    pub(super) fn look(&mut self, holds: Holds) -> bool {
        let enough = match (&self.packing, holds.listed) {
            (None, false) => {
                holds.objects >= TRAINED_OBJECTS_LISTING || holds.plain >= TRAINED_BYTES_LISTING
            }
            (None, true) | (Some(_), _) => true,
        };
        let enough = enough
            && holds.objects >= TRAINED_OBJECTS_MIN
            && holds.plain >= TRAINED_BYTES_MIN
            && self.anew.is_none()
            && self.is_due(holds);
        if !enough {
            return false;
        }
        let since = std::mem::take(&mut self.since);
        self.looked_at = Some(holds);
        // A few objects unlike all others say nothing of the dictionary.
        let enough = since.plain >= TRAINED_BYTES_MIN.max(holds.plain / JUDGED_SHARE);
        self.packing.is_none() || enough && since.is_worse_than(self.made_for)
    }

    /// Whether enough has happened since the last look.
    fn is_due(&self, holds: Holds) -> bool {
        let Some(before) = self.looked_at else { return true };
        let packed = self.since.objects;
        holds.listed != before.listed && packed > before.objects / 4
            || holds.objects >= before.objects * 4
            || packed >= LOOK_OBJECTS.max(holds.objects * 4)
    }

    /// Trains a dictionary on the objects of the store, which are packed anew from now on.
    pub(super) fn train<'a>(&mut self, objects: impl Iterator<Item = &'a Object>, holds: Holds) {
        let every = holds.objects.div_ceil(SAMPLES_MAX).max(1);
        let samples: Vec<_> = objects.step_by(every).map(Object::json).collect();
        let mut samples: Vec<_> =
            samples.iter().map(|json| &json[..json.len().min(SAMPLE_BYTES_MAX)]).collect();
        // It learns from the first and tries what it has learnt on the last: neither may be all of a few namespaces.
        fastrand::Rng::with_seed(0).shuffle(&mut samples);
        let large = (holds.plain >= LARGE_STORE_BYTES).then_some(DICTIONARY_LARGE);
        // What has little to learn may not fill a large one.
        let sizes = large.into_iter().chain([DICTIONARY_SMALL]);
        if let Some(packing) = sizes.filter_map(|size| Packing::train(&samples, size)).next() {
            self.packing = Some(packing);
            self.made_for = Ratio::default();
            // What they know is of the dictionary before, and would keep it.
            self.siblings = Siblings::default();
            self.anew = Some(None);
        }
    }

    /// After which object those are that are to be looked at next; none where nothing is to be packed anew.
    pub(super) fn anew(&self) -> Option<Option<&ObjectKey>> {
        self.anew.as_ref().map(Option::as_ref)
    }

    /// How far packing anew has come; none: to the end.
    pub(super) fn packed_anew(&mut self, to: Option<ObjectKey>) {
        self.anew = to.map(Some);
    }
}
