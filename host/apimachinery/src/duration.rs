//! Durations as Kubernetes writes them: `30s`, `500ms`, `1m30s`, `1.5h`.

use std::fmt::Write as _;
use std::time::Duration;

/// The units of Go's `time.ParseDuration` down to milliseconds, which is as finely as anything here is timed; longest first, so that `ms`
/// is not taken for `m`. With the milliseconds of each.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];

/// The text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no duration: write it as in Kubernetes, 500ms, 30s or 1m30s")]
pub struct ParseDurationError(String);

/// Reads a duration; `0` needs no unit. What is finer than a millisecond is refused, and what has no unit.
pub fn parse(text: &str) -> Result<Duration, ParseDurationError> {
    let error = || ParseDurationError(text.chars().take(64).collect());
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let (mut rest, mut millis) = (text, 0u64);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let (number, after) = rest.split_at(digits);
        let unit = UNITS.iter().find(|(unit, _)| after.starts_with(unit)).ok_or_else(error)?;
        let part = crate::quantity::scaled(number, unit.1).ok_or_else(error)?;
        millis = millis.checked_add(part).ok_or_else(error)?;
        rest = &after[unit.0.len()..];
    }
    if text.is_empty() { Err(error()) } else { Ok(Duration::from_millis(millis)) }
}

/// As it is written: in the largest units that say it in whole numbers.
pub fn show(duration: Duration) -> String {
    let mut millis = duration.as_millis();
    if millis == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, size) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        let count = millis / size;
        millis %= size;
        if count > 0 {
            let _ = write!(text, "{count}{unit}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<u64>) {
        assert_eq!(parse(text).ok(), expect.map(Duration::from_millis), "{text:?}");
    }

    #[test]
    fn durations_are_written_as_in_kubernetes() {
        check("500ms", Some(500));
        check("30s", Some(30_000));
        check("1m30s", Some(90_000));
        check("1.5h", Some(5_400_000));
        check("0", Some(0));
        check("0s", Some(0));
        for wrong in ["", "30", "s", "30 s", "-1s", "1.5ms", "1d", "1..5s", "99999999999999999h"] {
            check(wrong, None);
        }
    }

    #[test]
    fn what_is_shown_can_be_read() {
        for (millis, expect) in
            [(0, "0s"), (1, "1ms"), (1_500, "1s500ms"), (90_000, "1m30s"), (3_600_000, "1h")]
        {
            let duration = Duration::from_millis(millis);
            assert_eq!(show(duration), expect);
            assert_eq!(parse(expect), Ok(duration));
        }
    }
}
