//! Copies of a file with damage, as a disk, a crash or a person leaves it: state directories' files and recordings.

use fastrand::Rng;
use informant_fuzz::Mutator;
use std::ops::Range;

/// What disks read and write at once.
const PAGE: usize = 4096;

/// One kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// The end is missing.
    CutOff,
    /// A page is all zeros.
    Zeros,
    /// Two pages are swapped.
    Swap,
    /// A page stands in another's place.
    Repeat,
    /// One bit.
    Bit,
    /// A number of four or eight bytes is at an edge.
    Number,
    /// More follows than there was.
    More,
    /// Bytes, words and pieces between brackets.
    Text,
    /// Lines of a text are left out, repeated or in another order.
    Lines,
}

impl Damage {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::CutOff,
        Self::Zeros,
        Self::Swap,
        Self::Repeat,
        Self::Bit,
        Self::Number,
        Self::More,
        Self::Text,
        Self::Lines,
    ];

    /// The file with it.
    pub fn apply(self, file: &mut Vec<u8>, words: &[&str], rng: &mut Rng) {
        let length = file.len();
        match self {
            _ if file.is_empty() => file.push(rng.u8(..)),
            Self::CutOff => file.truncate(rng.usize(..length)),
            Self::Zeros => file[page(length, rng)].fill(0),
            Self::Swap => {
                let (one, other) = (page(length, rng), page(length, rng));
                let [first, second] = [&one, &other].map(|range| file[range.clone()].to_vec());
                put(file, one.start, &second);
                put(file, other.start, &first);
            }
            Self::Repeat => {
                let from = file[page(length, rng)].to_vec();
                put(file, page(length, rng).start, &from);
            }
            Self::Bit => file[rng.usize(..length)] ^= 1 << rng.u32(..8),
            Self::Number => {
                let edge = rng.choice([0, 1, u64::MAX, 1 << 31, 1 << 32, 1 << 63]).expect("some");
                let bytes = if rng.bool() { edge.to_le_bytes() } else { edge.to_be_bytes() };
                let size = if rng.bool() { 4 } else { 8 };
                put(file, rng.usize(..length), &bytes[..size]);
            }
            Self::More => {
                let piece = file[page(length, rng)].to_vec();
                file.extend(piece.repeat(rng.usize(1..50)));
            }
            Self::Text => {
                let other = file[page(length, rng)].to_vec();
                *file = Mutator { words, length_max: length * 2 }.mutate(file, &other, rng);
            }
            Self::Lines => lines(file, rng),
        }
    }
}

/// A copy with some damage.
pub fn damaged(file: &[u8], words: &[&str], rng: &mut Rng) -> Vec<u8> {
    let mut copy = file.to_vec();
    for _ in 0..1 << rng.u32(..3) {
        Damage::ALL[rng.usize(..Damage::ALL.len())].apply(&mut copy, words, rng);
    }
    copy
}

/// Any page; the first ones, with what heads a file, more often.
fn page(length: usize, rng: &mut Rng) -> Range<usize> {
    let pages = length.div_ceil(PAGE);
    let number = if rng.bool() { rng.usize(..pages.min(4)) } else { rng.usize(..pages) };
    number * PAGE..((number + 1) * PAGE).min(length)
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    let length = bytes.len().min(file.len() - at);
    file[at..at + length].copy_from_slice(&bytes[..length]);
}

fn lines(file: &mut Vec<u8>, rng: &mut Rng) {
    let mut lines: Vec<Vec<u8>> =
        file.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let at = rng.usize(..lines.len());
    match rng.u32(..3) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        _ => {
            let other = rng.usize(..lines.len());
            lines.swap(at, other);
        }
    }
    *file = lines.concat();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        (0..3_000_u32).flat_map(|line| format!("{{\"line\":{line}}}\n").into_bytes()).collect()
    }

    #[test]
    fn every_damage_is_one_and_comes_again_with_the_same_seed() {
        for damage in Damage::ALL {
            let apply = |seed| {
                let mut copy = file();
                damage.apply(&mut copy, &["line"], &mut Rng::with_seed(seed));
                copy
            };
            let changed = (0..40).filter(|seed| apply(*seed) != file()).count();
            assert!(changed > 20, "{damage:?} changed {changed} of 40");
            assert!((0..40).all(|seed| apply(seed) == apply(seed)), "{damage:?}");
        }
    }

    #[test]
    fn a_file_of_nothing_is_one_as_well() {
        for seed in 0..100 {
            damaged(&[], &[], &mut Rng::with_seed(seed));
            damaged(b"a", &[], &mut Rng::with_seed(seed));
        }
    }
}
