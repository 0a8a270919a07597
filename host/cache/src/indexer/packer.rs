//! Decides when a store trains the dictionary for packing its objects, and which objects are packed again.
//!
//! The writer carries out the decisions. Before there is a dictionary, objects are packed without one, four times as
//! large. The first dictionary is trained once there are enough objects. It is replaced when new objects pack much
//! worse than those that it was trained on: a list comes in the order of names, so the first objects may be unlike the
//! rest. Objects hold their dictionary: an old one is freed when they are removed, or packed again.

use crate::object::{Object, ObjectKey, Packing, Siblings};

/// With fewer objects, or fewer bytes, a dictionary would not pay for itself: its two halves take 100 KiB.
const TRAINED_OBJECTS_MIN: usize = 32;
const TRAINED_BYTES_MIN: usize = 256 << 10;
/// During the first list more objects are awaited: a dictionary from more objects is better. They take at most a few
/// MiB meanwhile.
const TRAINED_OBJECTS_LISTING: usize = 512;
const TRAINED_BYTES_LISTING: usize = 4 << 20;
/// The most objects for training, at equal distances over the store, and the most bytes of each. Longer objects pack
/// well without a dictionary.
const SAMPLES_MAX: usize = 128;
const SAMPLE_BYTES_MAX: usize = 16 << 10;
/// Bytes of a dictionary, for a store below and above `LARGE_STORE_BYTES` of JSON.
const DICTIONARY_SMALL: usize = 16 << 10;
const DICTIONARY_LARGE: usize = 64 << 10;
const LARGE_STORE_BYTES: usize = 4 << 20;
/// Objects packed between two checks of the dictionary, unless the store has grown.
const LOOK_OBJECTS: usize = 16 << 10;
/// A dictionary is judged by at least one in so many bytes of the store's text.
const JUDGED_SHARE: usize = 64;
/// The share of packed bytes, in percent of the original share, at which a dictionary is replaced.
const WORSE_PERCENT: usize = 125;

/// Bytes of JSON, and the kept bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Ratio {
    objects: usize,
    plain: usize,
    kept: usize,
}

impl Ratio {
    fn note(&mut self, object: &Object) {
        self.objects += 1;
        // Edits say nothing about a dictionary.
        if let Some(packed) = object.packed_len() {
            self.plain += object.json_len();
            self.kept += packed;
        }
    }

    /// Whether the kept share is more than a quarter above the other's.
    fn is_worse_than(self, other: Self) -> bool {
        self.kept as u128 * other.plain as u128 * 100
            > other.kept as u128 * self.plain as u128 * WORSE_PERCENT as u128
    }
}

/// The content of a store.
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
    /// The ratio of the objects on which the dictionary was trained.
    made_for: Ratio,
    /// The ratio since the last check.
    since: Ratio,
    /// The store at the last check.
    looked_at: Option<Holds>,
    /// Whether a dictionary is to be trained.
    is_due: bool,
    /// The last object that was packed again; `None` if no objects remain to be packed again.
    anew: Option<Option<ObjectKey>>,
}

impl Packer {
    /// The object as a store of `plain` bytes of text keeps it, in place of an earlier version if there is one.
    pub(super) fn pack(&mut self, object: &Object, old: Option<&Object>, plain: usize) -> Object {
        let packed = self.siblings.pack(object, old, self.packing.as_ref(), plain);
        self.since.note(&packed);
        packed
    }

    /// The object packed with the present dictionary.
    pub(super) fn pack_anew(&mut self, object: &Object, plain: usize) -> Object {
        let object = object.to_be_read();
        let packed = self.siblings.pack(&object, None, self.packing.as_ref(), plain);
        self.made_for.note(&packed);
        packed
    }

    /// Whether the object was packed with another dictionary than the present one.
    pub(super) fn is_old(&self, object: &Object) -> bool {
        self.packing.as_ref().is_some_and(|packing| !object.is_packed_with(packing))
    }

    /// Whether it is time to train a dictionary. Stays true until that is done.
    pub(super) fn look(&mut self, holds: Holds) -> bool {
        self.is_due = self.is_due || self.becomes_due(holds);
        self.is_due
    }

    fn becomes_due(&mut self, holds: Holds) -> bool {
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
            && self.is_to_be_judged(holds);
        if !enough {
            return false;
        }
        let since = std::mem::take(&mut self.since);
        self.looked_at = Some(holds);
        // A few unusual objects say nothing about the dictionary.
        let enough = since.plain >= TRAINED_BYTES_MIN.max(holds.plain / JUDGED_SHARE);
        self.packing.is_none() || enough && since.is_worse_than(self.made_for)
    }

    /// Whether enough objects were packed since the last check.
    fn is_to_be_judged(&self, holds: Holds) -> bool {
        let Some(before) = self.looked_at else { return true };
        let packed = self.since.objects;
        holds.listed != before.listed && packed > before.objects / 4
            || holds.objects >= before.objects * 4
            || packed >= LOOK_OBJECTS.max(holds.objects * 4)
    }

    /// Trains a dictionary on the objects of the store. From now on all are packed again.
    pub(super) fn train<'a>(&mut self, objects: impl Iterator<Item = &'a Object>, holds: Holds) {
        self.is_due = false;
        let every = holds.objects.div_ceil(SAMPLES_MAX).max(1);
        let samples: Vec<_> = objects.step_by(every).map(Object::text_to_pack).collect();
        let mut samples: Vec<_> =
            samples.iter().map(|text| &text[..text.len().min(SAMPLE_BYTES_MAX)]).collect();
        // Training learns from the first samples and tests on the last: neither may be from only a few namespaces.
        fastrand::Rng::with_seed(0).shuffle(&mut samples);
        let large = (holds.plain >= LARGE_STORE_BYTES).then_some(DICTIONARY_LARGE);
        // A few samples may not fill a large dictionary.
        let sizes = large.into_iter().chain([DICTIONARY_SMALL]);
        if let Some(packing) = sizes.filter_map(|size| Packing::train(&samples, size)).next() {
            self.packing = Some(packing);
            self.made_for = Ratio::default();
            // The siblings belong to the dictionary before, and would keep it.
            self.siblings = Siblings::default();
            self.anew = Some(None);
        }
    }

    /// The object after which packing again continues; `None` if no objects remain.
    pub(super) fn anew(&self) -> Option<Option<&ObjectKey>> {
        self.anew.as_ref().map(Option::as_ref)
    }

    /// Notes the progress of packing again; `None`: the end.
    pub(super) fn packed_anew(&mut self, to: Option<ObjectKey>) {
        self.anew = to.map(Some);
    }
}
