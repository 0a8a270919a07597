//! Texts of few letters, two to a byte: hexadecimal digits of IDs and hashes, and times, addresses and numbers.

/// The letters of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// All bytes, one to a byte.
    Bytes,
    /// `0` to `9`, `a` to `f`.
    Hex,
    /// The digits and signs of times, numbers and addresses.
    Numbers,
}

/// A shorter text saves a byte at most, and is quicker to read as it is.
const SHORT_MIN: usize = 4;
static HEX: Letters = Letters::new(b"0123456789abcdef");
static NUMBERS: Letters = Letters::new(b"0123456789.:-TZ+");

struct Letters {
    letters: &'static [u8; 16],
    /// The place of each letter; of other bytes [`NONE`].
    places: [u8; 256],
}

const NONE: u8 = 16;

impl Letters {
    const fn new(letters: &'static [u8; 16]) -> Self {
        let (mut places, mut place) = ([NONE; 256], 0);
        while place < NONE {
            places[letters[place as usize] as usize] = place;
            place += 1;
        }
        Self { letters, places }
    }

    fn place(&self, byte: u8) -> u8 {
        self.places[usize::from(byte)]
    }
}

impl Alphabet {
    /// One of the smallest ones that have all letters of a text.
    pub(super) fn of(text: &[u8]) -> Self {
        let has = |letters: &Letters| text.iter().all(|&byte| letters.place(byte) != NONE);
        match text {
            text if text.len() < SHORT_MIN => Self::Bytes,
            _ if has(&HEX) => Self::Hex,
            _ if has(&NUMBERS) => Self::Numbers,
            _ => Self::Bytes,
        }
    }

    /// A number of two bits.
    pub(super) fn number(self) -> usize {
        self as usize
    }

    /// The alphabet of [`Alphabet::number`].
    pub(super) fn of_number(number: usize) -> Self {
        [Self::Bytes, Self::Hex, Self::Numbers][number]
    }

    fn letters(self) -> Option<&'static Letters> {
        match self {
            Self::Bytes => None,
            Self::Hex => Some(&HEX),
            Self::Numbers => Some(&NUMBERS),
        }
    }

    /// Appends a text of this alphabet to `out`.
    pub(super) fn put(self, text: &[u8], out: &mut Vec<u8>) {
        let Some(letters) = self.letters() else { return out.extend_from_slice(text) };
        let pair = |pair: &[u8]| {
            let second = pair.get(1).map_or(0, |&byte| letters.place(byte));
            letters.place(pair[0]) << 4 | second
        };
        out.extend(text.chunks(2).map(pair));
    }

    /// Takes a text of `len` bytes from the front of what [`Alphabet::put`] made, and appends it to `text`.
    pub(super) fn take(self, from: &mut &[u8], len: usize, text: &mut Vec<u8>) {
        let letters = self.letters();
        let (taken, rest) = from.split_at(if letters.is_some() { len.div_ceil(2) } else { len });
        *from = rest;
        let Some(Letters { letters, .. }) = letters else { return text.extend_from_slice(taken) };
        let end = text.len() + len;
        let both = |&byte: &u8| [byte >> 4, byte & 15].map(|place| letters[usize::from(place)]);
        text.extend(taken.iter().flat_map(both));
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, alphabet: Alphabet, bytes: usize) {
        let of = Alphabet::of(text.as_bytes());
        assert_eq!(Alphabet::of_number(of.number()), of);
        let mut put = Vec::new();
        of.put(text.as_bytes(), &mut put);
        assert_eq!((of, put.len()), (alphabet, bytes), "{text:?}");
        put.push(b'|');
        let (mut rest, mut taken) = (&put[..], b"before ".to_vec());
        of.take(&mut rest, text.len(), &mut taken);
        assert_eq!((taken, rest), ([b"before ", text.as_bytes()].concat(), &b"|"[..]));
    }

    #[test]
    fn a_text_of_few_letters_takes_half_of_its_bytes() {
        check("0123456789abcdef", Alphabet::Hex, 8);
        check("12345", Alphabet::Hex, 3);
        check("2026-11-29T04:18:57.123Z", Alphabet::Numbers, 12);
        check("10.0.250.7", Alphabet::Numbers, 5);
        check("ABCDEF", Alphabet::Bytes, 6);
        check("123", Alphabet::Bytes, 3);
        check("", Alphabet::Bytes, 0);
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "[0-9a-f.TZ]{0,20}|[0-9:+-]{0,20}|.{0,20}") {
            let (of, mut put, mut taken) = (Alphabet::of(text.as_bytes()), Vec::new(), Vec::new());
            of.put(text.as_bytes(), &mut put);
            of.take(&mut &put[..], text.len(), &mut taken);
            prop_assert_eq!(taken, text.into_bytes());
        }
    }
}
