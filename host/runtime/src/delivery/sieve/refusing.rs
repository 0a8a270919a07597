//! The updates that plugins would refuse now, two bits for each subscription. The release of a plugin's queue writes the
//! plugin's bits. An informer reads those of 64 subscriptions at once, and looks at no plugin.

use crate::delivery::mailboxes::Refusing;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

const BITS: usize = u64::BITS as usize;

/// The bits of all places of a sieve.
#[derive(Debug, Default)]
pub(super) struct RefusingPlaces {
    words: Vec<Arc<RefusingWord>>,
}

/// The bits of 64 places.
#[derive(Debug, Default)]
struct RefusingWord {
    /// Those whose plugin would refuse every update.
    everything: AtomicU64,
    /// Those whose plugin would refuse the updates of objects of which no event waits.
    free: AtomicU64,
}

/// The bit of one subscription.
#[derive(Clone, Debug)]
pub(crate) struct RefusingBit {
    word: Arc<RefusingWord>,
    mask: u64,
}

impl RefusingPlaces {
    /// The bit of a place.
    pub(super) fn bit(&mut self, place: usize) -> RefusingBit {
        if self.words.len() <= place / BITS {
            self.words.resize_with(place / BITS + 1, Arc::default);
        }
        RefusingBit { word: self.words[place / BITS].clone(), mask: 1 << (place % BITS) }
    }

    /// The places of this word whose plugins would refuse every update, and those whose plugins have to be asked.
    pub(super) fn word(&self, number: usize) -> [u64; 2] {
        let Some(word) = self.words.get(number) else { return [0; 2] };
        let everything = word.everything.load(Acquire);
        [everything, word.free.load(Acquire) & !everything]
    }
}

impl RefusingBit {
    /// A reader meanwhile may find neither, and lets the handler decide.
    pub(crate) fn set(&self, refusing: Refusing) {
        let RefusingWord { everything, free } = &*self.word;
        everything.fetch_and(!self.mask, Release);
        free.fetch_and(!self.mask, Release);
        match refusing {
            Refusing::Nothing => {}
            Refusing::Free => _ = free.fetch_or(self.mask, Release),
            Refusing::Everything => _ = everything.fetch_or(self.mask, Release),
        }
    }
}

impl PartialEq for RefusingBit {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.word, &other.word) && self.mask == other.mask
    }
}
