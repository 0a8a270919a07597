//! Objects of one owner are alike: the Pods of a ReplicaSet differ in names, addresses, times. Most are kept as what they have that
//! one of them, their base, has not: that is several times quicker than packing each, and smaller.
//!
//! What is remembered is bounded and may be forgotten: then the owner's next objects get another base. Objects keep theirs.

use super::base::Base;
use super::pattern::Pattern;
use super::words::Words;
use super::{Object, Packing};
use hashbrown::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};

/// What is remembered in each of two generations: a share of the bytes of a store's text, within bounds.
const REMEMBERED_SHARE: usize = 32;
const REMEMBERED_MIN: usize = 64 << 10;
const REMEMBERED_MAX: usize = 4 << 20;
/// The object unlike those before that becomes a base. A base of small objects pays only from the second after it on.
const FIRST_BASE: u8 = 2;
const FIRST_BASE_SMALL: u8 = 3;
/// Bases in a row that the next object was too different from, until no more are tried.
const MISSES_MAX: u8 = 4;

/// The bases of one store's objects.
#[derive(Default)]
pub(crate) struct Siblings {
    /// What was asked for since `before` was all there was.
    now: Generation,
    before: Generation,
}

#[derive(Default)]
struct Generation {
    known: HashMap<Owners, KnownOwner>,
    bytes: usize,
}

/// Equal owners are one handle while anybody has it.
#[derive(Clone)]
struct Owners(Words);

impl PartialEq for Owners {
    fn eq(&self, other: &Self) -> bool {
        self.0.same_handle(&other.0)
    }
}

impl Eq for Owners {}

impl Hash for Owners {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.address().hash(state);
    }
}

/// What is known of an owner's objects.
#[derive(Default)]
struct KnownOwner {
    base: Option<Base>,
    misses: u8,
}

impl Siblings {
    /// The object as a store of `plain` bytes of text keeps it, in the place of an earlier version if there is one.
    ///
    /// That one's text is unpacked, which those who are told of it would do anyway: its handle keeps it if it is to be read.
    pub(crate) fn pack(
        &mut self,
        object: &Object,
        old: Option<&Object>,
        packing: Option<&Packing>,
        plain: usize,
    ) -> Object {
        let Some(packing) = packing else { return object.packed(None) };
        if !object.may_be_edited() {
            return object.packed(Some(packing));
        }
        let pattern = &object.pattern();
        let old = old.filter(|old| old.is_packed_with(packing));
        let owners = Owners(object.owners().clone());
        if owners.0.bytes().is_empty() {
            return KnownOwner::default().pack(object, pattern, old, packing);
        }
        let mut known = self.take(&owners).unwrap_or_default();
        let packed = known.pack(object, pattern, old, packing);
        self.put(owners, known, plain);
        packed
    }

    fn take(&mut self, owners: &Owners) -> Option<KnownOwner> {
        self.now.take(owners).or_else(|| self.before.take(owners))
    }

    fn put(&mut self, owners: Owners, known: KnownOwner, plain: usize) {
        if self.now.bytes > (plain / REMEMBERED_SHARE).clamp(REMEMBERED_MIN, REMEMBERED_MAX) {
            self.before = std::mem::take(&mut self.now);
        }
        self.now.bytes += known.bytes();
        self.now.known.insert(owners, known);
    }

    /// Of what is remembered, roughly.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        let generations = [&self.now, &self.before];
        generations.iter().flat_map(|one| one.known.values()).map(KnownOwner::bytes).sum()
    }
}

impl Generation {
    fn take(&mut self, owners: &Owners) -> Option<KnownOwner> {
        let known = self.known.remove(owners)?;
        self.bytes -= known.bytes();
        Some(known)
    }
}

impl KnownOwner {
    fn bytes(&self) -> usize {
        size_of::<(Owners, Self)>() + self.base.as_ref().map_or(0, Base::bytes)
    }

    fn pack(
        &mut self,
        object: &Object,
        pattern: &Pattern,
        old: Option<&Object>,
        packing: &Packing,
    ) -> Object {
        let mut tried = false;
        if let Some(before) = old.and_then(|old| old.base(self.base.as_ref())) {
            tried = self.base.as_ref().is_some_and(|base| base.frame.is(&before.frame));
            if let Some(edited) = object.edited(pattern, &before, packing) {
                if tried {
                    self.misses = 0;
                } else if self.base.is_none() && before.is_of_siblings() {
                    self.base = Some(before);
                }
                return edited;
            }
        }
        if !tried
            && let Some(base) = &self.base
            && let Some(edited) = object.edited(pattern, base, packing)
        {
            self.misses = 0;
            return edited;
        }
        // A small object would become its own base, which takes more than it saves.
        let is_small = object.is_small();
        if old.is_some() && is_small {
            return object.packed_of(pattern, Some(packing));
        }
        self.misses = self.misses.saturating_add(1);
        // Many owners have but one object of a kind, and one that is unlike the others is no base for them.
        let first = if is_small { FIRST_BASE_SMALL } else { FIRST_BASE };
        if (first..=MISSES_MAX).contains(&self.misses)
            && let Some((packed, base)) = object.packed_as_base(pattern, packing)
        {
            self.base = Some(base);
            return packed;
        }
        if self.misses > MISSES_MAX {
            self.base = None;
        }
        object.packed_of(pattern, Some(packing))
    }
}

impl fmt::Debug for Siblings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Siblings").field("bytes", &(self.now.bytes + self.before.bytes)).finish()
    }
}
