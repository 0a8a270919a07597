//! A part of a plugin's account with the life time of an object, and the refusal of its growth.

use super::ledger::{Holding, Ledger};
use std::fmt::Write as _;
use std::sync::Arc;

/// Bytes that are held for a plugin until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    ledger: Arc<Ledger>,
    holding: Holding,
    bytes: u64,
}

/// The plugin would exceed its memory. The text is for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Overdraft(String);

impl Overdraft {
    pub(super) fn new(bytes: u64, most: u64, parts: &[(&'static str, u64)]) -> Self {
        let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
        let mut parts: Vec<_> = parts.iter().filter(|(_, bytes)| *bytes > 0).collect();
        parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let mut text = format!(
            "it would hold {} MiB of the host's memory, at most {} MiB are allowed (limits.hostMemory)",
            mebibytes(bytes),
            most >> 20
        );
        for (number, (part, bytes)) in parts.into_iter().enumerate() {
            let between = if number == 0 { ":" } else { "," };
            let _ = write!(text, "{between} {part} {} MiB", mebibytes(*bytes));
        }
        Self(text)
    }
}

impl Held {
    /// Zero bytes.
    pub(crate) fn nothing(ledger: &Arc<Ledger>, holding: Holding) -> Self {
        Self { ledger: ledger.clone(), holding, bytes: 0 }
    }

    /// Holds so many bytes, if all parts of the plugin together then have at most `most`.
    pub(crate) fn of(
        ledger: &Arc<Ledger>,
        holding: Holding,
        bytes: u64,
        most: u64,
    ) -> Result<Self, Overdraft> {
        let mut held = Self::nothing(ledger, holding);
        held.grow(bytes, most).map(|()| held)
    }

    /// Holds so many more bytes, on the same condition. On an error nothing changes.
    pub(crate) fn grow(&mut self, bytes: u64, most: u64) -> Result<(), Overdraft> {
        let noted = bytes.min(most);
        // Others may grow at the same time: the bytes are noted first, so that those calls see them.
        self.ledger.add(self.holding, noted);
        let parts = self.ledger.parts();
        let sum = parts.iter().fold(bytes - noted, |sum, (_, bytes)| sum.saturating_add(*bytes));
        if sum > most {
            self.ledger.remove(self.holding, noted);
            self.ledger.wants(sum);
            return Err(Overdraft::new(sum, most, &parts));
        }
        self.bytes += bytes;
        Ok(())
    }

    /// The number of held bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.ledger.remove(self.holding, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_noted_for_as_long_as_it_lives() {
        let ledger = Arc::<Ledger>::default();
        let of = |holding, bytes, most| Held::of(&ledger, holding, bytes, most);
        let one = of(Holding::Instances, 60, 100).expect("it fits");
        let mut other = of(Holding::Instances, 20, 100).expect("it fits");
        assert_eq!(ledger.held(Holding::Instances), 80);
        assert!(of(Holding::Code, 21, 100).is_err());
        assert_eq!(ledger.wanted(), 101);
        let code = of(Holding::Code, 20, 100).expect("it fits");
        assert!(other.grow(1, 100).is_err());
        assert_eq!((ledger.held(Holding::Instances), other.bytes()), (80, 20));
        drop(one);
        other.grow(60, 100).expect("there is room again");
        assert!(other.grow(u64::MAX, 100).is_err(), "a sum too large to count");
        drop((other, code));
        assert_eq!(Holding::ALL.map(|holding| ledger.held(holding)), [0; 5]);
    }

    #[test]
    fn what_others_parts_held_when_they_were_read_counts() {
        let ledger = Arc::<Ledger>::default();
        ledger.note_read(40, 50);
        assert!(Held::of(&ledger, Holding::Code, 11, 100).is_err());
        assert!(Held::of(&ledger, Holding::Code, 10, 100).is_ok());
        // Of indexes the newest size counts, which is nothing here.
        assert!(ledger.check_indexes(50).is_ok());
        let text = ledger.check_indexes(49).map_err(|overdraft| overdraft.to_string());
        assert!(text.is_err_and(|text| text.ends_with("others 1 MiB")));
    }
}
