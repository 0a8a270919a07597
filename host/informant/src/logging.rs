//! The process's log: text for people, JSON for machines, with the same keys in both.

mod footer;
mod stdout;
mod text;

use crate::cli::LogFormat;
use anstream::{AutoStream, ColorChoice};
pub(crate) use footer::pin;
pub(crate) use stdout::{Stdout, end};
use text::TextLines;
use tracing_subscriber::EnvFilter;

/// The filter unless `RUST_LOG` has another. A failed request is logged by its caller, with its purpose;
/// the client's own line would repeat it.
const FILTER: &str = "info,hyper=warn,kube=warn,kube_client::client::builder=off,tower=warn";

/// Sends all log lines of the process to standard output, from a thread of their own until [`end`].
pub(crate) fn init(format: LogFormat) {
    stdout::begin();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(FILTER));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Stdout);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).init(),
        LogFormat::Text => builder.event_format(TextLines::new(is_coloured())).init(),
    }
}

/// Whether standard output gets colours: it is a terminal that has them, unless `NO_COLOR`, `CLICOLOR` or
/// `CLICOLOR_FORCE` says otherwise.
pub(crate) fn is_coloured() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}
