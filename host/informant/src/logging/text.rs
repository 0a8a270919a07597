//! One log line for people: `12:03:55  event-printer  added   pod default/web-1: Running`.
//!
//! Colours have a meaning. Each plugin's name has its own colour, a change is green, yellow or red, and a reload is
//! cyan. The host's other lines are dim.

use anstyle::{Ansi256Color, AnsiColor, Style};
use informant_runtime::one_line;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The source of lines that belong to no plugin.
const HOST: &str = "host";
/// The largest width of the column of sources. The column is as wide as the longest name so far.
const SOURCE_COLUMNS_MAX: usize = 24;
/// The width of the column of changes: `updated` and `deleted` are the longest.
const CHANGE_COLUMNS: usize = 7;
/// Colours of plugins' names: readable on light and dark backgrounds, and none of them green, yellow, red or cyan.
const NAME_COLOURS: [u8; 7] = [32, 67, 69, 99, 105, 133, 170];

const DIM: Style = Style::new().dimmed();

/// Formats log lines for people.
pub(super) struct TextLines {
    is_coloured: bool,
    source_columns: AtomicUsize,
}

impl TextLines {
    pub(super) fn new(is_coloured: bool) -> Self {
        Self { is_coloured, source_columns: AtomicUsize::new(HOST.len()) }
    }

    fn write(&self, writer: &mut impl fmt::Write, time: &str, line: &Line) -> fmt::Result {
        let source = line.plugin.as_deref().unwrap_or(HOST);
        self.paint(writer, DIM, time)?;
        let style = line.plugin.as_deref().map_or(DIM, name_style);
        self.paint(writer, style, &format!("  {source:<0$}  ", self.columns(source)))?;
        self.write_text(writer, line)?;
        writer.write_char('\n')
    }

    /// The level, the message and the fields.
    fn write_text(&self, writer: &mut impl fmt::Write, line: &Line) -> fmt::Result {
        let (label, style) = level_label(line.level);
        self.paint(writer, style, label)?;
        let message = one_line(&line.message, usize::MAX);
        match message
            .split_once(' ')
            .and_then(|(word, rest)| Some((word, change_style(word)?, rest)))
        {
            Some((change, style, rest)) if line.is_from_plugin => {
                self.paint(writer, style, &format!("{change:<CHANGE_COLUMNS$}"))?;
                write!(writer, " {rest}")?;
            }
            _ => self.paint(writer, message_style(line), &message)?,
        }
        self.paint(writer, DIM, &one_line(&line.fields, usize::MAX))
    }

    /// The width of the column for this source: that of the longest source so far.
    fn columns(&self, source: &str) -> usize {
        let columns = source.chars().count().min(SOURCE_COLUMNS_MAX);
        self.source_columns.fetch_max(columns, Relaxed).max(columns)
    }

    fn paint(&self, writer: &mut impl fmt::Write, style: Style, text: &str) -> fmt::Result {
        match self.is_coloured && !text.is_empty() {
            true => write!(writer, "{style}{text}{style:#}"),
            false => writer.write_str(text),
        }
    }
}

/// A plugin's line without its time and its plugin.
pub(crate) fn plugin_text(is_coloured: bool, level: Level, message: &str, fields: &str) -> String {
    let (message, fields) = (message.to_owned(), fields.to_owned());
    let line = Line { message, fields, ..Line::new(level, true) };
    let mut text = String::new();
    // A text takes everything.
    let _ = TextLines::new(is_coloured).write_text(&mut text, &line);
    text
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
        let metadata = event.metadata();
        let mut line = Line::new(*metadata.level(), metadata.target() == "plugin");
        event.record(&mut line);
        let time = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
        self.write(&mut writer, &time, &line)
    }
}

/// Equal names have equal colours, in every run.
fn name_style(name: &str) -> Style {
    let sum =
        name.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    Ansi256Color(NAME_COLOURS[sum % NAME_COLOURS.len()]).on_default()
}

/// Ordinary lines have no label.
fn level_label(level: Level) -> (&'static str, Style) {
    match level {
        Level::ERROR => ("error: ", AnsiColor::Red.on_default().bold()),
        Level::WARN => ("warning: ", AnsiColor::Yellow.on_default().bold()),
        Level::INFO => ("", Style::new()),
        Level::DEBUG => ("debug: ", DIM),
        Level::TRACE => ("trace: ", DIM),
    }
}

/// The style of a change. `None` for other words.
fn change_style(word: &str) -> Option<Style> {
    match word {
        "added" => Some(AnsiColor::Green.on_default()),
        "updated" => Some(AnsiColor::Yellow.on_default()),
        "deleted" => Some(AnsiColor::Red.on_default()),
        _ => None,
    }
}

/// A reload is the host's most important line and has its own colour. The other lines are dim, except warnings and
/// errors.
fn message_style(line: &Line) -> Style {
    match line.is_from_plugin || line.level != Level::INFO {
        true => Style::new(),
        false if line.message.starts_with("reloaded ") => AnsiColor::Cyan.on_default().bold(),
        false => DIM,
    }
}

/// The parts of a log line.
struct Line {
    level: Level,
    /// Whether the plugin itself logged the line.
    is_from_plugin: bool,
    plugin: Option<String>,
    message: String,
    /// The fields, each after two spaces. A plugin's line omits the object's keys, because the message names the
    /// object.
    fields: String,
}

impl Line {
    fn new(level: Level, is_from_plugin: bool) -> Self {
        Self { level, is_from_plugin, plugin: None, message: String::new(), fields: String::new() }
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "plugin" => self.plugin = Some(value.to_owned()),
            // A plugin's own fields already contain their keys.
            "fields" => self.fields += &format!("  {value}"),
            _ => self.record_debug(field, &format_args!("{value}")),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            _ if self.is_from_plugin => {}
            name => self.fields += &format!("  {name}={value:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of the host, or of a plugin if the source ends with `!`.
    fn line(level: Level, source: &str, message: &str, fields: &str) -> Line {
        let plugin = source.trim_end_matches('!');
        Line {
            plugin: (!plugin.is_empty()).then(|| plugin.to_owned()),
            message: message.to_owned(),
            fields: fields.to_owned(),
            ..Line::new(level, source.ends_with('!'))
        }
    }

    #[track_caller]
    fn check(is_coloured: bool, lines: &[Line], expect: &[&str]) {
        let format = TextLines::new(is_coloured);
        let mut text = String::new();
        lines.iter().for_each(|line| format.write(&mut text, "12:03:55", line).expect("text"));
        assert_eq!(text.replace('\u{1b}', "^").lines().collect::<Vec<_>>(), expect);
    }

    #[test]
    fn text_stays_one_line_and_does_not_control_the_terminal() {
        let line = line(Level::INFO, "web", "a\nb\u{1b}[2J", "  error=c\u{2028}d");
        check(false, &[line], &["12:03:55  web   a\\nb\\u{1b}[2J  error=c\\u{2028}d"]);
    }

    #[test]
    fn columns_are_aligned_and_only_unusual_levels_are_named() {
        let lines = [
            line(Level::INFO, "", "cluster answers", ""),
            line(Level::INFO, "web", "running", "  version=1"),
            line(Level::INFO, "web!", "added pod a/b", "  size=1"),
            line(Level::INFO, "web!", "updated pod a/b", ""),
            line(Level::INFO, "printer!", "deleted pod a/b", ""),
            line(Level::WARN, "web", "attempt 1 failed", ""),
            line(Level::ERROR, "", "added", ""),
        ];
        let expect = [
            "12:03:55  host  cluster answers",
            "12:03:55  web   running  version=1",
            "12:03:55  web   added   pod a/b  size=1",
            "12:03:55  web   updated pod a/b",
            "12:03:55  printer  deleted pod a/b",
            "12:03:55  web      warning: attempt 1 failed",
            "12:03:55  host     error: added",
        ];
        check(false, &lines, &expect);
    }

    #[test]
    fn colours_tell_changes_plugins_and_the_host_apart() {
        let lines = [
            line(Level::INFO, "", "cluster answers", ""),
            line(Level::INFO, "a", "reloaded in 0.3 s", ""),
            line(Level::INFO, "b!", "added pod a/b", ""),
        ];
        let expect = [
            "^[2m12:03:55^[0m^[2m  host  ^[0m^[2mcluster answers^[0m",
            "^[2m12:03:55^[0m^[38;5;170m  a     ^[0m^[1m^[36mreloaded in 0.3 s^[0m",
            "^[2m12:03:55^[0m^[38;5;32m  b     ^[0m^[32madded  ^[0m pod a/b",
        ];
        check(true, &lines, &expect);
    }
}
