//! Lines in the host's log with the plugin's name: [`info!`](crate::info) and its siblings, or [`log`] with fields.
//! One call is one line.

use crate::imports::log as host;
use std::fmt::{Arguments, Display};

pub use crate::bindings::informant::plugin::log::Level;

/// Whether lines of this level are written. Check it before you build an expensive line.
#[must_use]
pub fn enabled(level: Level) -> bool {
    host::enabled(level)
}

/// Writes one line with fields, each a name and a value.
pub fn log(level: Level, message: impl Display, fields: &[(&str, &dyn Display)]) {
    let fields: Vec<_> = fields.iter().map(|(k, v)| ((*k).to_owned(), v.to_string())).collect();
    host::log(level, &message.to_string(), &fields);
}

/// The implementation of the macros. Formats trace and debug lines only if they are written.
#[doc(hidden)]
pub fn write(level: Level, message: Arguments<'_>) {
    if level >= Level::Info || enabled(level) {
        log(level, message, &[]);
    }
}

/// Writes the text of a panic to the log, as one line, before the instance traps.
#[cfg(target_arch = "wasm32")]
pub(crate) fn report_panics() {
    use std::sync::Once;
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let text = info.payload_as_str().unwrap_or("no text");
            match info.location() {
                Some(at) => log(Level::Error, format_args!("panicked at {at}: {text}"), &[]),
                None => log(Level::Error, format_args!("panicked: {text}"), &[]),
            }
        }));
    });
}

/// In a native build the test harness already reports panics.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn report_panics() {}

/// Writes a line at level trace; arguments as for [`format!`].
#[macro_export]
macro_rules! trace {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Trace, ::core::format_args!($($message)+)) };
}

/// Writes a line at level debug; arguments as for [`format!`].
#[macro_export]
macro_rules! debug {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Debug, ::core::format_args!($($message)+)) };
}

/// Writes a line at level info; arguments as for [`format!`].
#[macro_export]
macro_rules! info {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Info, ::core::format_args!($($message)+)) };
}

/// Writes a line at level warn; arguments as for [`format!`].
#[macro_export]
macro_rules! warn {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Warn, ::core::format_args!($($message)+)) };
}

/// Writes a line at level error; arguments as for [`format!`].
#[macro_export]
macro_rules! error {
    ($($message:tt)+) => { $crate::log::write($crate::log::Level::Error, ::core::format_args!($($message)+)) };
}
