//! Whether plugins would refuse an update now, one bit for each subscription. The release of a plugin's queue writes the
//! plugin's bits. An informer reads those of 64 subscriptions at once, and looks at no plugin.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

const BITS: usize = u64::BITS as usize;

/// The bits of all places of a sieve.
#[derive(Debug, Default)]
pub(super) struct RefusingPlaces {
    words: Vec<Arc<AtomicU64>>,
}

/// The bit of one subscription.
#[derive(Clone, Debug)]
pub(crate) struct RefusingBit {
    word: Arc<AtomicU64>,
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

    /// The places of this word whose plugins would refuse an update.
    pub(super) fn word(&self, number: usize) -> u64 {
        self.words.get(number).map_or(0, |word| word.load(Acquire))
    }
}

impl RefusingBit {
    pub(crate) fn set(&self, refuses: bool) {
        match refuses {
            true => self.word.fetch_or(self.mask, Release),
            false => self.word.fetch_and(!self.mask, Release),
        };
    }
}

impl PartialEq for RefusingBit {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.word, &other.word) && self.mask == other.mask
    }
}
