//! Durations in a descriptor.

use super::{DescriptorError, check_text, error};
use jiff::SignedDuration;
use std::time::Duration;

/// A longer period never passes in a host's life.
const DURATION_MAX: Duration = Duration::from_secs(366 * 86_400);

/// Bytes of a duration: `8784h59m59s999ms999us999ns` has 26.
pub(crate) const DURATION_BYTES_MAX: usize = 32;

/// Reads a duration in Kubernetes' form: `30s`, `1h30m`, `1500ms`. `min` is at least one millisecond.
pub(super) fn duration(
    key: &str,
    text: &str,
    min: Duration,
    at: &str,
) -> Result<Duration, DescriptorError> {
    check_text(&format!("{at}.{key}"), text, DURATION_BYTES_MAX)?;
    let is_known = |c: char| c.is_ascii_digit() || ".nuµmsh".contains(c);
    let parsed = text.chars().all(is_known).then(|| text.parse::<SignedDuration>().ok()).flatten();
    let duration = parsed.and_then(|duration| Duration::try_from(duration).ok());
    let Some(duration) = duration else {
        let problem = format!("{key} {text:?} is no duration; write it as 30s or 1h30m");
        return Err(error(at, problem));
    };
    match (min..=DURATION_MAX).contains(&duration) {
        true => Ok(duration),
        false => Err(error(at, format!("{key} {text} is not between {min:?} and 8784h"))),
    }
}
