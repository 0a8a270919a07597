//! Durations as kubectl writes them: two or three figures, the smaller the longer the duration.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The duration for people: `5s`, `3m20s`, `47m`, `5h12m`, `3d4h`, `120d`, `2y40d`.
///
/// The steps are those of `duration.HumanDuration` in `k8s.io/apimachinery/pkg/util/duration`. Clocks that
/// disagree by less than two seconds count as now; more is `<invalid>`.
pub fn human_duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        ..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two_units(seconds, (MINUTE, "m"), (1, "s")),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => two_units(seconds, (HOUR, "h"), (MINUTE, "m")),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => two_units(seconds, (DAY, "d"), (HOUR, "h")),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two_units(seconds, (YEAR, "y"), (DAY, "d")),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// The larger unit and, unless it is zero, the rest in the smaller one.
fn two_units(seconds: i64, large: (i64, &str), small: (i64, &str)) -> String {
    let rest = seconds % large.0 / small.0;
    if rest == 0 {
        format!("{}{}", seconds / large.0, large.1)
    } else {
        format!("{}{}{rest}{}", seconds / large.0, large.1, small.1)
    }
}

/// A timestamp in an object; `None` where it is missing or no RFC 3339 time.
pub(super) fn timestamp(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// How long ago a timestamp of an object is; `<unknown>` where there is none.
pub(super) fn since(value: &Value, now: Timestamp) -> String {
    match timestamp(value) {
        Some(then) => human_duration(now.duration_since(then)),
        None => "<unknown>".to_owned(),
    }
}

/// The object's age.
pub(super) fn age(object: &Value, now: Timestamp) -> Value {
    since(&object["metadata"]["creationTimestamp"], now).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seconds: i64, expect: &str) {
        assert_eq!(human_duration(SignedDuration::from_secs(seconds)), expect);
    }

    #[test]
    fn durations_are_written_as_kubectl_does() {
        check(-2, "<invalid>");
        check(-1, "0s");
        check(0, "0s");
        check(119, "119s");
        check(120, "2m");
        check(200, "3m20s");
        check(599, "9m59s");
        check(600, "10m");
        check(3 * HOUR - 1, "179m");
        check(3 * HOUR, "3h");
        check(5 * HOUR + 12 * MINUTE + 59, "5h12m");
        check(8 * HOUR, "8h");
        check(47 * HOUR, "47h");
        check(48 * HOUR, "2d");
        check(3 * DAY + 4 * HOUR, "3d4h");
        check(8 * DAY, "8d");
        check(2 * YEAR - 1, "729d");
        check(2 * YEAR, "2y");
        check(2 * YEAR + 40 * DAY, "2y40d");
        check(9 * YEAR, "9y");
    }
}
