//! The log of the process: text for people and JSON for machines, with the same keys.

mod footer;
mod stdout;
mod text;

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
pub(crate) use footer::{TerminalSize, pin, terminal_size, unpin};
use std::sync::OnceLock;
pub(crate) use stdout::{Stdout, end};
use text::TextLines;
pub(crate) use text::plugin_text;

use tracing::error;
use tracing_subscriber::EnvFilter;

/// The filter, unless `RUST_LOG` is set. The caller of a failed request logs it with its purpose. The client's own
/// line would repeat that.
const FILTER: &str = "info,hyper=warn,kube=warn,kube_client::client::builder=off,tower=warn";

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Lines of text, for people.
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// The log's format, once the log is on.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Reports the error that ends the program. For machines it is a line of the log, else it has the form of clap's
/// errors. Call it before [`end`] of the log.
pub(crate) fn tell_failure(error: &anyhow::Error) {
    match FORMAT.get() {
        Some(LogFormat::Json) => error!("{error:#}"),
        Some(LogFormat::Text) | None => print_error(error),
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
        None => note(&format!("error: {error:#}")),
    }
}

/// Prints a line for people beside the output of a command.
#[expect(clippy::print_stderr, reason = "standard output is for programs too")]
pub(crate) fn note(line: &str) {
    eprintln!("{line}");
}

/// Sends all log lines of the process to standard output, from a separate thread until [`end`].
pub(crate) fn init(format: LogFormat) {
    stdout::begin();
    // Only the first call has an effect.
    let _ = FORMAT.set(format);
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(FILTER));
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
