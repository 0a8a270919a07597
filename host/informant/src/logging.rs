//! How log lines look: text for people, JSON for machines, the same keys in both.

mod stdout;

use crate::cli::LogFormat;
use anstyle::{AnsiColor, Style};
use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::IsTerminal;
pub(crate) use stdout::{Stdout, end};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// What is logged unless `RUST_LOG` says otherwise. Every failed request is told by whoever made it, with what it
/// was for; the client's own line would only come twice.
const FILTER: &str = "info,hyper=warn,kube=warn,kube_client::client::builder=off,tower=warn";

/// Sends all of the process's log lines to standard output, from a thread of their own until [`end`].
pub(crate) fn init(format: LogFormat) {
    stdout::begin();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(FILTER));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Stdout);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).init(),
        LogFormat::Text => {
            let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
                || std::env::var_os("CLICOLOR_FORCE").is_some();
            builder.event_format(TextLines { colour }).init();
        }
    }
}

/// `12:03:55.120 INFO  event-printer  added pod default/web-1  resource=v1/pods ...`
struct TextLines {
    colour: bool,
}

impl<S, N> FormatEvent<S, N> for TextLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Line::default();
        event.record(&mut line);
        let level = *event.metadata().level();
        self.painted(&mut writer, Style::new().dimmed(), &clock())?;
        self.painted(&mut writer, level_style(level), &format!(" {level:<5} "))?;
        let from_plugin = event.metadata().target() == "plugin";
        if let Some(plugin) = &line.plugin {
            self.painted(&mut writer, AnsiColor::Cyan.on_default(), plugin)?;
            writer.write_str("  ")?;
        }
        let style = if from_plugin { message_style(&line.message) } else { Style::new() };
        self.painted(&mut writer, style, &one_line(&line.message))?;
        let rest = if from_plugin { &line.own_fields } else { &line.fields };
        self.painted(&mut writer, Style::new().dimmed(), &one_line(rest))?;
        writer.write_char('\n')
    }
}

impl TextLines {
    fn painted(&self, writer: &mut Writer<'_>, style: Style, text: &str) -> fmt::Result {
        match self.colour {
            true => write!(writer, "{style}{text}{style:#}"),
            false => writer.write_str(text),
        }
    }
}

/// The text with its control characters escaped, and what ends a line or turns the reading direction: an error may quote what a plugin or a server
/// said, which must neither look like a line of its own nor speak to the terminal.
fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(disturbs) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match disturbs(character) {
            true => escaped.extend(character.escape_default()),
            false => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

fn disturbs(character: char) -> bool {
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns || matches!(character, '\u{2028}' | '\u{2029}')
}

/// The time of day in the local zone, to the millisecond.
fn clock() -> String {
    jiff::Zoned::now().strftime("%H:%M:%S%.3f").to_string()
}

fn level_style(level: Level) -> Style {
    match level {
        Level::ERROR => AnsiColor::Red.on_default().bold(),
        Level::WARN => AnsiColor::Yellow.on_default().bold(),
        Level::INFO => AnsiColor::Green.on_default(),
        _ => Style::new().dimmed(),
    }
}

/// Plugins' lines that begin with one of the three changes are shown in its colour.
fn message_style(message: &str) -> Style {
    match message.split(' ').next() {
        Some("added") => AnsiColor::Green.on_default(),
        Some("updated") => AnsiColor::Yellow.on_default(),
        Some("deleted") => AnsiColor::Red.on_default(),
        _ => Style::new(),
    }
}

/// An event's fields, sorted for a line of text.
#[derive(Default)]
struct Line {
    plugin: Option<String>,
    message: String,
    /// All fields but plugin and message, each with two spaces before it.
    fields: String,
    /// What a plugin gave with its line. The keys of the object are left out, as plugins name it themselves.
    own_fields: String,
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "plugin" => self.plugin = Some(value.to_owned()),
            "fields" => {
                let _ = write!(self.own_fields, "  {value}");
                let _ = write!(self.fields, "  {value}");
            }
            name => {
                let _ = write!(self.fields, "  {name}={value}");
            }
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => {
                let _ = write!(self.fields, "  {name}={value:?}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_one_line_and_says_nothing_to_the_terminal() {
        let check = |text: &str, expect: &str| assert_eq!(one_line(text), expect);
        check("added pod default/web-1", "added pod default/web-1");
        check("größer → 100 %", "größer → 100 %");
        check("a\nb\tc\r", "a\\nb\\tc\\r");
        check("\u{1b}[2J\u{9b}31m", "\\u{1b}[2J\\u{9b}31m");
        check("a\u{202e}b\u{2028}c", "a\\u{202e}b\\u{2028}c");
    }
}
