//! The times of a plugin's schedule: a cron line, in UTC, or a period.
//!
//! UTC has no summer time: a line with three o'clock means the same moment of every day. A local clock that is moved
//! shows another hour then.

use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::Arc;
use std::time::Duration;

/// One schedule of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleSpec {
    /// Passed with each call; unique within the plugin.
    pub name: Arc<str>,
    /// The times of its calls.
    pub when: When,
}

/// The times of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// By a line of five fields, in UTC.
    Cron(CronLine),
    /// Again and again after this period, first after one period.
    Every(Duration),
}

/// A cron line of five fields: minute, hour, day of month, month, day of week.
///
/// The text is kept and read again for each time, at most once a minute: croner keeps a bit field for each of 5,000 years.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronLine {
    line: Arc<str>,
}

/// The names of months and weekdays that a line may have; croner knows more words, which other programs do not.
const WORDS: [&str; 19] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC", "SUN",
    "MON", "TUE", "WED", "THU", "FRI", "SAT",
];

impl CronLine {
    /// Reads a line, or returns its problem.
    pub fn parse(line: &str) -> Result<Self, String> {
        let fields = line.split_whitespace().count();
        if fields != 5 {
            return Err(format!(
                "has {fields} fields, and needs five: minute, hour, day of month, month, day of week"
            ));
        }
        let is_sign = |c: char| c.is_ascii_digit() || c == ' ' || "*,-/".contains(c);
        let upper = line.to_ascii_uppercase();
        let odd = upper.split(is_sign).find(|word| !word.is_empty() && !WORDS.contains(word));
        if let Some(odd) = odd {
            return Err(format!(
                "has {odd:?}, where numbers, * , - / and names such as MON and JAN may be"
            ));
        }
        read(line).map_err(|error| {
            let text = error.to_string();
            let text = text.rsplit_once("error: ").map_or(&*text, |(_, reason)| reason);
            format!("cannot be read: {}", text.trim_end_matches('.'))
        })?;
        let line = Self { line: line.into() };
        // Four years contain every possible day.
        match line.after(Timestamp::UNIX_EPOCH) {
            Some(_) => Ok(line),
            None => Err("means a day that there never is".to_owned()),
        }
    }

    /// The first time after this one; `None` if there is none in thousands of years.
    pub(crate) fn after(&self, time: Timestamp) -> Option<Timestamp> {
        let time = time.to_zoned(TimeZone::UTC);
        Some(read(&self.line).ok()?.find_next_occurrence(&time, false).ok()?.timestamp())
    }

    /// The last time up to this one.
    pub(crate) fn up_to(&self, time: Timestamp) -> Option<Timestamp> {
        let time = time.to_zoned(TimeZone::UTC);
        Some(read(&self.line).ok()?.find_previous_occurrence(&time, true).ok()?.timestamp())
    }
}

fn read(line: &str) -> Result<Cron, CronError> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed);
    parser.build().parse(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next two times after a time, and the last up to it.
    #[track_caller]
    fn check(line: &str, time: &str, expect: [&str; 3]) {
        let line = CronLine::parse(line).expect("a good line");
        let time: Timestamp = time.parse().expect("a time");
        let first = line.after(time).expect("there is one");
        let second = line.after(first).expect("there is one");
        let last = line.up_to(time).expect("there is one");
        assert_eq!([last, first, second].map(|time| time.to_string()), expect);
    }

    #[test]
    fn a_line_means_moments_in_utc() {
        let expect = ["2026-03-28T03:00:00Z", "2026-03-29T03:00:00Z", "2026-03-30T03:00:00Z"];
        check("0 3 * * *", "2026-03-29T02:59:59.5Z", expect);
        check("0 3 * * *", "2026-03-28T03:00:00Z", expect);
        let expect = ["2026-11-20T09:45:00Z", "2026-11-23T09:00:00Z", "2026-11-23T09:15:00Z"];
        check("*/15 9 * * mon-fri", "2026-11-20T10:00:00Z", expect);
        let expect = ["2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"];
        check("0 0 29 FEB *", "2026-01-01T00:00:00Z", expect);
        // With a day of the month and a day of the week, either one matches, as in other cron programs.
        let expect = ["2026-11-01T00:00:00Z", "2026-11-08T00:00:00Z", "2026-11-13T00:00:00Z"];
        check("0 0 13 * SUN", "2026-11-07T00:00:00Z", expect);
    }

    #[track_caller]
    fn check_problem(line: &str, expect: &str) {
        let problem = CronLine::parse(line).expect_err("it is no line");
        assert!(problem.contains(expect), "{line}: {problem}");
    }

    #[test]
    fn what_is_no_line_is_told() {
        check_problem("", "has 0 fields, and needs five");
        check_problem("@daily", "has 1 fields");
        check_problem("0 0 3 * * *", "has 6 fields");
        check_problem("0 0 L * *", "has \"L\", where numbers");
        check_problem("0 0 ? * *", "has \"?\", where numbers");
        check_problem("0 25 * * *", "");
        check_problem("0 0 31 2 *", "means a day that there never is");
    }
}
