//! The log of the process: text for people and JSON for machines, with the same keys.

mod footer;
mod stdout;
mod text;

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
pub(crate) use footer::{TerminalSize, pin, terminal_size, unpin};
use std::sync::OnceLock;
pub(crate) use stdout::{Stdout, end, finish_output, put};
use text::TextLines;
pub(crate) use text::plugin_text;

use informant_runtime::disturbs_terminal;
use std::fmt::Write as _;
use tracing::level_filters::LevelFilter;
use tracing::{error, warn};
use tracing_subscriber::EnvFilter;

/// The variable that takes the same as `--log-level`.
const VARIABLE: &str = "RUST_LOG";
/// The level, unless `--log-level` or [`VARIABLE`] is set.
const LEVEL: &str = "info";
/// The levels of some libraries. The caller of a failed request logs it with its purpose. The client's own line would
/// repeat that.
const LIBRARIES: &str = ",hyper=warn,kube=warn,kube_client::client::builder=off,tower=warn";

/// What is logged, and how.
#[derive(clap::Args, Debug)]
pub(crate) struct LogArgs {
    /// Format of the log.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// Lowest level of the log's lines: error, warn, info, debug or trace; also a filter such as
    /// `info,informant_cache=debug` [default: info].
    #[arg(long, value_name = "LEVEL", value_parser = level, env = VARIABLE)]
    pub(crate) log_level: Option<EnvFilter>,
}

/// A filter, in which a level alone does not raise that of the libraries for connections. An empty text, as of a variable
/// that is set to nothing, is the default level.
fn level(text: &str) -> Result<EnvFilter, String> {
    let text = if text.is_empty() { LEVEL } else { text };
    let filter = match text.parse::<LevelFilter>() {
        Ok(level) if level > LevelFilter::ERROR => format!("{text}{LIBRARIES}"),
        _ => text.to_owned(),
    };
    // The parser of arguments names the option alone.
    let problem = |error| {
        format!("{error}; without the option, the value is that of the variable {VARIABLE}")
    };
    EnvFilter::try_new(filter).map_err(problem)
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Lines of text, for people.
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// The log's format, once the log is on.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// The last text of the program, at the [`end`] of its log.
pub(crate) enum LastWords {
    None,
    /// A line of the log.
    Warning(String),
    /// The error that ends the program. For machines it is a line of the log, else it has the form of clap's errors.
    Failure(anyhow::Error),
}

impl LastWords {
    /// Writes the line of the log. Returns the error that is for people, if there is one.
    fn log(self) -> Option<anyhow::Error> {
        match (self, FORMAT.get()) {
            (Self::None, _) => {}
            (Self::Warning(text), _) => warn!("{text}"),
            (Self::Failure(error), Some(LogFormat::Json)) => error!("{error:#}"),
            (Self::Failure(error), Some(LogFormat::Text) | None) => return Some(error),
        }
        None
    }
}

/// An error whose text is the whole line: it has the form of kubectl's errors.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WholeLine(pub(crate) String);

/// Prints an error in the form of clap's errors.
fn print_error(error: &anyhow::Error) {
    match error.downcast_ref::<WholeLine>() {
        Some(line) => note(&line.0),
        // It may quote a file that somebody else wrote.
        None => note(&escaped(&format!("error: {error:#}"))),
    }
}

/// Lines in which no character moves the cursor or turns the reading direction: an escape of JSON stands for each. Names of
/// objects may have such characters.
pub(crate) fn escaped(lines: &str) -> String {
    let mut text = String::with_capacity(lines.len());
    for character in lines.chars() {
        match character {
            '\n' | '\t' => text.push(character),
            _ if disturbs_terminal(character) => {
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
    text
}

/// Prints a line for people beside the output of a command.
#[expect(clippy::print_stderr, reason = "standard output is for programs too")]
pub(crate) fn note(line: &str) {
    eprintln!("{line}");
}

/// Sends all log lines of the process to standard output, from a separate thread until [`end`].
pub(crate) fn init(args: &LogArgs) {
    stdout::begin();
    let format = args.log_format;
    // Only the first call has an effect.
    let _ = FORMAT.set(format);
    let by_default = || EnvFilter::new(format!("{LEVEL}{LIBRARIES}"));
    let filter = args.log_level.clone().unwrap_or_else(by_default);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Stdout);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).init(),
        LogFormat::Text => builder.event_format(TextLines::new(is_coloured())).init(),
    }
}

/// Whether standard output gets colours: it must be a terminal with colours, unless `NO_COLOR`, `CLICOLOR` or
/// `CLICOLOR_FORCE` is set.
pub(crate) fn is_coloured() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_leaves_the_libraries_as_they_are_and_a_filter_counts_as_it_stands() {
        let check = |text: &str, expect: Option<&str>| {
            let found = level(text).ok().map(|filter| {
                let text = filter.to_string();
                let mut parts: Vec<&str> = text.split(',').collect();
                parts.sort_unstable();
                parts.join(",")
            });
            assert_eq!(found.as_deref(), expect, "{text}");
        };
        let libraries = "hyper=warn,kube=warn,kube_client::client::builder=off,tower=warn";
        check("debug", Some(&format!("debug,{libraries}")));
        check("info,informant_cache=trace", Some("info,informant_cache=trace"));
        check("off", Some("off"));
        check("error", Some("error"));
        check("", Some(&libraries.replacen(',', ",info,", 1)));
        check("a=b=c", None);
        let problem = level("a=b=c").expect_err("it is none");
        assert!(problem.contains("the variable RUST_LOG"), "{problem}");
    }

    #[test]
    fn the_variable_takes_what_the_option_takes() {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            log: LogArgs,
        }
        let command = <Program as clap::CommandFactory>::command();
        let option = command.get_arguments().find(|it| it.get_id() == "log_level");
        assert_eq!(option.and_then(|it| it.get_env()), Some(VARIABLE.as_ref()));
    }
}
