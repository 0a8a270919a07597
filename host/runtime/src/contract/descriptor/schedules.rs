//! The schedules of a plugin.

use super::durations::duration;
use super::{Descriptor, DescriptorError, check_name, check_text, error, json};
use crate::contract::schedule::{CronLine, ScheduleSpec, When};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::time::Duration;

/// Schedules of one plugin.
pub(crate) const SCHEDULES_MAX: usize = 64;
/// Bytes of a cron line: enough to name each of the 60 minutes.
pub(crate) const CRON_BYTES_MAX: usize = 256;
/// The keys of a schedule.
const KEYS: [&str; 3] = ["name", "cron", "every"];
/// A shorter period is a loop and no schedule.
const PERIOD_MIN: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
struct RawSchedule {
    name: String,
    cron: Option<String>,
    every: Option<String>,
}

pub(super) fn schedule(json: &RawValue, at: &str) -> Result<ScheduleSpec, DescriptorError> {
    let raw: RawSchedule = json::object(json, at, &KEYS)?;
    check_name(&format!("{at}.name"), &raw.name)?;
    let when = match (raw.cron, raw.every) {
        (Some(line), None) => {
            check_text(&format!("{at}.cron"), &line, CRON_BYTES_MAX)?;
            let refused = |problem| {
                error(&format!("{at} ({})", raw.name), format!("the cron line {line:?} {problem}"))
            };
            When::Cron(CronLine::parse(&line).map_err(refused)?)
        }
        (None, Some(period)) => When::Every(duration("every", &period, PERIOD_MIN, at)?),
        _ => return Err(error(at, "needs one of cron and every")),
    };
    Ok(ScheduleSpec { name: raw.name.into(), when })
}

impl Descriptor {
    pub(super) fn check_schedules(&self) -> Result<(), DescriptorError> {
        let mut names = BTreeSet::new();
        match self.schedules.iter().find(|schedule| !names.insert(&schedule.name)) {
            None => Ok(()),
            Some(ScheduleSpec { name, .. }) => {
                Err(error("schedules", format!("the name {name:?} is used twice")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schedules: &str, expect: &str) {
        let json = format!(r#"{{"version":"1","schedules":[{schedules}]}}"#);
        let error = Descriptor::parse(json.as_bytes()).err().map(|error| error.to_string());
        let shown = error.map(|error| error.replace("descriptor schedules", ""));
        assert_eq!(shown.unwrap_or_default(), expect, "{schedules}");
    }

    fn every(period: &str) -> String {
        format!(r#"{{"name":"a","every":"{period}"}}"#)
    }

    #[test]
    fn schedules_that_mean_nothing_are_refused_with_their_place() {
        check(r#"{"name":"a","cron":"0 3 * * *"},{"name":"b","every":"1h30m"}"#, "");
        check(r#"{"name":"a"}"#, "[0]: needs one of cron and every");
        check(
            r#"{"name":"a","cron":"0 3 * * *","every":"1s"}"#,
            "[0]: needs one of cron and every",
        );
        check(r#"{"name":"","every":"1s"}"#, "[0].name: is empty");
        let text = r#"[0] (a): the cron line "0 25 * * *" cannot be read: Number out of bounds"#;
        check(r#"{"name":"a","cron":"0 25 * * *"}"#, text);
        let text = "[0] (a): the cron line \"0 3\" has 2 fields, and needs five: minute, hour, day of month, month, day of week";
        check(r#"{"name":"a","cron":"0 3"}"#, text);
        check(&[every("1s"), every("2s")].join(","), r#": the name "a" is used twice"#);
    }

    #[test]
    fn periods_are_kubernetes_durations_within_bounds() {
        for good in ["100ms", "1.5s", "1h30m", "8784h", "1m0.5s"] {
            check(&every(good), "");
        }
        for bad in ["", "1", "1d", "-1s", "PT1S", "1 s", "s"] {
            let text = format!("[0]: every {bad:?} is no duration; write it as 30s or 1h30m");
            check(&every(bad), &text);
        }
        for odd in ["99ms", "0s", "8785h"] {
            check(&every(odd), &format!("[0]: every {odd} is not between 100ms and 8784h"));
        }
    }

    #[test]
    fn schedules_are_bounded() {
        let many = |count: usize| {
            let one = |number| format!(r#"{{"name":"s{number}","every":"1s"}}"#);
            (0..count).map(one).collect::<Vec<_>>().join(",")
        };
        check(&many(SCHEDULES_MAX), "");
        check(&many(SCHEDULES_MAX + 1), ": has 65 entries, at most 64 are allowed");
    }
}
