//! The units of limits and other settings, and their text form, as in Kubernetes.

use informant_apimachinery::{duration, quantity};
use std::time::Duration;

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain count.
    Count,
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Milliseconds,
    /// A count in a second.
    PerSecond,
    /// Bytes in a second.
    BytesPerSecond,
}

impl Unit {
    /// The unit's word in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Milliseconds => "milliseconds",
            Self::PerSecond => "per-second",
            Self::BytesPerSecond => "bytes-per-second",
        }
    }

    /// The number's text in a configuration file.
    pub fn show(self, number: u64) -> String {
        match self {
            Self::Count | Self::PerSecond => number.to_string(),
            Self::Bytes | Self::BytesPerSecond => quantity::show(number),
            Self::Milliseconds => duration::show(Duration::from_millis(number)),
        }
    }

    /// Reads a text from a configuration file; the error has the valid form.
    pub(crate) fn parse(self, text: &str) -> Result<u64, String> {
        match self {
            Self::Count | Self::PerSecond => {
                text.parse().map_err(|_| format!("{text:?} is no whole number: write it as 100"))
            }
            Self::Bytes | Self::BytesPerSecond => {
                quantity::parse(text).map_err(|error| error.to_string())
            }
            Self::Milliseconds => {
                let parsed = duration::parse(text).map_err(|error| error.to_string())?;
                u64::try_from(parsed.as_millis()).map_err(|error| error.to_string())
            }
        }
    }
}

/// The value of a limit's field, as the number of its unit.
pub(super) trait Number {
    fn from_number(number: u64) -> Self;
    fn number(&self) -> u64;
}

impl Number for usize {
    fn from_number(number: u64) -> Self {
        Self::try_from(number).unwrap_or(Self::MAX)
    }

    fn number(&self) -> u64 {
        *self as u64
    }
}

impl Number for u64 {
    fn from_number(number: u64) -> Self {
        number
    }

    fn number(&self) -> u64 {
        *self
    }
}

impl Number for u32 {
    fn from_number(number: u64) -> Self {
        Self::try_from(number).unwrap_or(Self::MAX)
    }

    fn number(&self) -> u64 {
        u64::from(*self)
    }
}

impl Number for Duration {
    fn from_number(number: u64) -> Self {
        Self::from_millis(number)
    }

    fn number(&self) -> u64 {
        u64::try_from(self.as_millis()).unwrap_or(u64::MAX)
    }
}
