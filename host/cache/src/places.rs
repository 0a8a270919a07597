//! A set of small numbers, one bit each.

/// The places of handlers in a [`Sieve`](crate::Sieve).
#[derive(Clone, Debug, Default)]
pub struct SievePlaces {
    words: Vec<u64>,
}

const BITS: usize = u64::BITS as usize;

impl SievePlaces {
    /// No places.
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Adds a place.
    pub fn insert(&mut self, place: usize) {
        if self.words.len() <= place / BITS {
            self.words.resize(place / BITS + 1, 0);
        }
        self.words[place / BITS] |= 1 << (place % BITS);
    }

    /// Removes a place.
    pub fn remove(&mut self, place: usize) {
        if let Some(word) = self.words.get_mut(place / BITS) {
            *word &= !(1 << (place % BITS));
        }
    }

    /// Whether the place is in the set.
    pub fn contains(&self, place: usize) -> bool {
        self.words.get(place / BITS).is_some_and(|word| word & (1 << (place % BITS)) != 0)
    }

    /// Whether the set has no place.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Removes all places.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The places from `64 * number` on, one bit each.
    pub fn word(&self, number: usize) -> u64 {
        self.words.get(number).copied().unwrap_or_default()
    }

    /// Adds the places from `64 * number` on whose bits are set.
    pub fn add_word(&mut self, number: usize, word: u64) {
        if self.words.len() <= number {
            self.words.resize(number + 1, 0);
        }
        self.words[number] |= word;
    }

    /// The bytes of the set's memory.
    pub fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    /// Makes this set equal to the other, in its own memory.
    pub fn set_to(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
    }

    /// Adds the places of the other set.
    pub fn add(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Removes the places of the other set.
    pub fn subtract(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= !other);
    }

    /// The places, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(number, word)| Self::of_word(number, *word))
    }

    /// The places of a [`word`](Self::word), in order.
    pub fn of_word(number: usize, word: u64) -> impl Iterator<Item = usize> {
        let mut left = word;
        std::iter::from_fn(move || {
            let place = (left != 0).then(|| number * BITS + left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(place)
        })
    }
}

impl FromIterator<usize> for SievePlaces {
    fn from_iter<I: IntoIterator<Item = usize>>(places: I) -> Self {
        let mut all = Self::default();
        places.into_iter().for_each(|place| all.insert(place));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_set_of_bits_is_a_set() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..500 {
            let mut pair = || {
                let places: BTreeSet<usize> =
                    (0..random.usize(..9)).map(|_| random.usize(..200)).collect();
                (places.iter().copied().collect::<SievePlaces>(), places)
            };
            let ((one, of_one), (other, of_other)) = (pair(), pair());
            let check = |change: fn(&mut SievePlaces, &SievePlaces), expect: BTreeSet<usize>| {
                let mut changed = one.clone();
                change(&mut changed, &other);
                assert!(changed.iter().eq(expect.iter().copied()), "{one:?} {other:?}");
                assert_eq!(changed.is_empty(), expect.is_empty());
                assert!((0..300).all(|place| changed.contains(place) == expect.contains(&place)));
            };
            check(SievePlaces::add, &of_one | &of_other);
            check(SievePlaces::subtract, &of_one - &of_other);
            check(SievePlaces::set_to, of_other.clone());
            let by_words = |one: &mut SievePlaces, other: &SievePlaces| {
                (0..5).for_each(|number| one.add_word(number, other.word(number)));
            };
            check(by_words, &of_one | &of_other);
            check(
                |one, other| other.iter().for_each(|place| one.remove(place)),
                &of_one - &of_other,
            );
            check(|one, _| one.clear(), BTreeSet::new());
        }
    }
}
