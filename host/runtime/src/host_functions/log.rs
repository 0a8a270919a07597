//! `log`: the plugin's lines, with the keys that all of the host's logs have.

use crate::bindings::informant::plugin::log::{Host, Level};
use crate::guest_state::{GuestState, Phase};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Instant;
use tracing::{Level as HostLevel, enabled, event};

/// A line longer than this is cut: one log line must stay one line on a screen of any log viewer.
const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// Emits at a level that is only known now; tracing wants it in the code.
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

impl Host for GuestState {
    fn enabled(&mut self, level: Level) -> wasmtime::Result<bool> {
        Ok(is_enabled(level))
    }

    fn log(
        &mut self,
        level: Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        if !is_enabled(level) {
            return Ok(());
        }
        let bytes = message.len() + fields.iter().map(|(k, v)| k.len() + v.len()).sum::<usize>();
        if self.log_budget.take(bytes.min(MESSAGE_BYTES_MAX), Instant::now()) {
            self.write(level, &message, &fields);
        }
        Ok(())
    }
}

impl GuestState {
    fn write(&self, level: Level, message: &str, fields: &[(String, String)]) {
        let plugin = self.plugin.as_str();
        let message = one_line(message);
        let fields = joined(fields);
        let fields = (!fields.is_empty()).then_some(fields.as_str());
        match &self.phase {
            Phase::Handle(current) => {
                let key = current.object.key();
                emit!(
                    level,
                    plugin,
                    resource = &*current.resource,
                    namespace = &*key.namespace,
                    name = &*key.name,
                    resource_version = current.object.resource_version(),
                    fields,
                    "{message}"
                );
            }
            _ => emit!(level, plugin, fields, "{message}"),
        }
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

/// Cuts what is too long and escapes control characters, so that a plugin cannot forge lines or move the
/// cursor of whoever reads them.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    let end = text.floor_char_boundary(MESSAGE_BYTES_MAX);
    let (kept, cut) = text.split_at(end);
    if cut.is_empty() && !kept.chars().any(char::is_control) {
        return kept.into();
    }
    let mut line = String::with_capacity(kept.len() + 32);
    for character in kept.chars() {
        match character {
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            '\r' => line.push_str("\\r"),
            _ if character.is_control() => {
                let _ = write!(line, "\\u{{{:x}}}", u32::from(character));
            }
            _ => line.push(character),
        }
    }
    if !cut.is_empty() {
        let _ = write!(line, " … ({} bytes more)", cut.len());
    }
    line.into()
}

fn joined(fields: &[(String, String)]) -> String {
    let mut text = String::new();
    for (key, value) in fields {
        let space = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{space}{}={}", one_line(key), one_line(value));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(one_line(text), expect);
    }

    #[test]
    fn a_message_stays_on_one_line() {
        check("added pod default/web-1", "added pod default/web-1");
        check("a\nb\tc", "a\\nb\\tc");
        check("\u{1b}[2Jgone", "\\u{1b}[2Jgone");
        check("söhne", "söhne");
        let long = "é".repeat(MESSAGE_BYTES_MAX);
        assert!(one_line(&long).ends_with(" … (16384 bytes more)"));
    }
}
