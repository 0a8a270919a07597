//! `log`: the plugin's lines, with the keys of all of the host's logs.

use super::HostCall;
use crate::backtrace::Backtrace;
use crate::call_error::CallError;
use crate::event::ShownObject;
use crate::guest::bindings::informant::plugin::log::{Host, Level};
use crate::guest::guest_state::{GuestState, Phase};
use crate::guest::instance_ends::EndReport;
use crate::log_budget::MESSAGE_BYTES_MAX;
use crate::log_tail::LoggedLine;
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use std::fmt::Write as _;
use tracing::{Level as HostLevel, enabled, event};

/// The kept part of a call's last error line, in case the call ends in a trap: half of an error's room.
const LAST_WORDS_BYTES_MAX: usize = ERROR_BYTES_MAX / 2;

/// Emits at a level of run time; tracing wants the level in the code.
macro_rules! emit {
    ($level:expr, $($field:tt)*) => {
        match $level {
            Level::Trace => event!(target: "plugin", HostLevel::TRACE, $($field)*),
            Level::Debug => event!(target: "plugin", HostLevel::DEBUG, $($field)*),
            Level::Info => event!(target: "plugin", HostLevel::INFO, $($field)*),
            Level::Warn => event!(target: "plugin", HostLevel::WARN, $($field)*),
            Level::Error => event!(target: "plugin", HostLevel::ERROR, $($field)*),
        }
    };
}

impl Host for HostCall<'_> {
    fn enabled(&mut self, level: Level) -> wasmtime::Result<bool> {
        Ok(self.wants(level))
    }

    fn log(
        &mut self,
        level: Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        if level == Level::Error {
            self.notes.last_words = Some(one_line(&message, LAST_WORDS_BYTES_MAX).into_owned());
        }
        if self.wants(level) {
            self.tell(level, &message, &joined(&fields));
        }
        Ok(())
    }
}

impl GuestState {
    /// Logs one line of the plugin, if the budget allows it. `fields` are already formatted.
    pub(crate) fn tell(&self, level: Level, message: &str, fields: &str) {
        if !self.wants(level) {
            return;
        }
        let message = one_line(message, MESSAGE_BYTES_MAX);
        self.budgeted(level, &message, fields);
    }

    /// Logs the place in the plugin's code where a call ended, with a line for each frame if the error has no room for
    /// all. An end that repeats the last one is counted. The lines count towards the plugin's budget: the guest chose
    /// its functions' names and the time of its end.
    pub(crate) fn tell_end(&self, error: &CallError, backtrace: &Backtrace) {
        let during = self.phase.name();
        let line = |text: &str| self.budgeted(Level::Error, text, "");
        let error = error.to_string();
        match self.ends.note(self.shard.number, &error) {
            EndReport::Full => {
                line(&format!("{during} ended its instance: {error}"));
                for (number, frame) in backtrace.beyond_the_error().iter().enumerate() {
                    line(&format!("  {number}: {frame}"));
                }
            }
            EndReport::Count(times) => {
                line(&format!("{during} ended its instance for the {times}th time: {error}"));
            }
            EndReport::Nothing => {}
        }
    }

    /// Writes the line if the budget has its bytes, with those of the words that the call puts into each line.
    fn budgeted(&self, level: Level, message: &str, fields: &str) {
        let bytes = message.len() + fields.len() + self.phase.words_bytes();
        if self.log_budget.take(bytes, self.surroundings.now()) {
            self.write(level, message, fields);
        }
    }

    /// Whether a reader takes lines of this level.
    fn wants(&self, level: Level) -> bool {
        let on_tape = self.tape.as_ref().and_then(|tape| tape.wants(level));
        on_tape.unwrap_or_else(|| is_enabled(level))
    }

    /// Keeps the line for readers of the plugin's log.
    fn keep<'a>(&'a self, level: Level, message: &'a str, line: LoggedLine<'a>) {
        let line = LoggedLine {
            timestamp: self.surroundings.wall(),
            level: level_name(level),
            message,
            shard: self.shard.logged(),
            ..line
        };
        match &self.phase {
            Phase::Handle(current) => {
                let object = ShownObject::from(&current.event.object);
                self.log_tail.push(&LoggedLine {
                    resource: Some(&current.resource),
                    namespace: Some(&object.namespace),
                    name: Some(&object.name),
                    resource_version: Some(&object.resource_version),
                    ..line
                });
            }
            Phase::Reconcile(key, _) => {
                self.log_tail.push(&LoggedLine { key: Some(key), ..line });
            }
            Phase::Fire(schedule) => {
                self.log_tail.push(&LoggedLine { schedule: Some(schedule), ..line });
            }
            _ => self.log_tail.push(&line),
        }
    }

    fn write(&self, level: Level, message: &str, fields: &str) {
        if let Some(tape) = &self.tape {
            tape.logged(level, message, fields);
        }
        let (plugin, shard) = (self.plugin.as_str(), self.shard.logged());
        let fields = (!fields.is_empty()).then_some(fields);
        let ids = self.notes.trace.as_ref().and_then(|trace| trace.ids());
        let ids = ids.map(|(trace, span)| [trace.to_string(), span.to_string()]);
        let (trace_id, span_id) = ids.as_ref().map(|[trace, span]| (&**trace, &**span)).unzip();
        self.keep(
            level,
            message,
            LoggedLine { fields, trace_id, span_id, ..LoggedLine::default() },
        );
        match &self.phase {
            Phase::Handle(current) => {
                let object = ShownObject::from(&current.event.object);
                emit!(
                    level,
                    plugin,
                    shard,
                    resource = &*current.resource,
                    namespace = &*object.namespace,
                    name = &*object.name,
                    resource_version = &*object.resource_version,
                    fields,
                    trace_id,
                    span_id,
                    "{message}"
                );
            }
            Phase::Reconcile(key, _) => {
                let key = &*one_line(key, MESSAGE_BYTES_MAX);
                emit!(level, plugin, shard, key, fields, trace_id, span_id, "{message}");
            }
            Phase::Fire(schedule) => {
                let schedule = &*one_line(schedule, MESSAGE_BYTES_MAX);
                emit!(level, plugin, shard, schedule, fields, trace_id, span_id, "{message}");
            }
            _ => emit!(level, plugin, shard, fields, trace_id, span_id, "{message}"),
        }
    }
}

/// As in the host's JSON log.
fn level_name(level: Level) -> &'static str {
    match level {
        Level::Trace => "TRACE",
        Level::Debug => "DEBUG",
        Level::Info => "INFO",
        Level::Warn => "WARN",
        Level::Error => "ERROR",
    }
}

fn is_enabled(level: Level) -> bool {
    match level {
        Level::Trace => enabled!(target: "plugin", HostLevel::TRACE),
        Level::Debug => enabled!(target: "plugin", HostLevel::DEBUG),
        Level::Info => enabled!(target: "plugin", HostLevel::INFO),
        Level::Warn => enabled!(target: "plugin", HostLevel::WARN),
        Level::Error => enabled!(target: "plugin", HostLevel::ERROR),
    }
}

/// The fields as `key=value`, up to the length of a message.
fn joined(fields: &[(String, String)]) -> String {
    let mut text = String::new();
    for (index, (key, value)) in fields.iter().enumerate() {
        let space = if index == 0 { "" } else { " " };
        let before = text.len();
        let (key, value) = (one_line(key, MESSAGE_BYTES_MAX), one_line(value, MESSAGE_BYTES_MAX));
        let _ = write!(text, "{space}{key}={value}");
        if text.len() > MESSAGE_BYTES_MAX {
            text.truncate(before);
            let _ = write!(text, "{space}… ({} fields more)", fields.len() - index);
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &[(&str, &str)], expect: &str) {
        let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        assert_eq!(joined(&fields.iter().map(owned).collect::<Vec<_>>()), expect);
    }

    #[test]
    fn fields_are_joined_on_one_line() {
        check(&[], "");
        check(&[("a", "1"), ("b", "x\ny")], "a=1 b=x\\ny");
    }

    #[test]
    fn fields_above_the_bound_are_counted_not_written() {
        let half = "é".repeat(MESSAGE_BYTES_MAX / 4 - 1);
        let both = format!("a={half} b={half}");
        assert_eq!(both.len(), MESSAGE_BYTES_MAX + 1);
        check(&[("a", &half), ("b", &half[2..])], &both[..both.len() - 2]);
        check(&[("a", &half), ("b", &half), ("c", "")], &format!("a={half} … (2 fields more)"));
        check(&[("a", &"x".repeat(MESSAGE_BYTES_MAX))], "… (1 fields more)");
    }
}
