//! Recordings: the calls between a live plugin and its host, in a file. `informant replay` plays
//! them back to the same or another build of the plugin.
//!
//! A recording begins with an instance and has everything that is told to it, what it asks, what it is answered and how each call ends. What is written,
//! what is kept out, and why, is in `host/docs/designs/recordings.md`. Who is recorded waits for nothing: a recording that cannot be written as fast as its
//! plugin works ends and says so.

mod format;
mod queue;
mod recorder;
mod secrets;
mod writer;

pub(crate) use format::{CalledWith, HandledEvent, Moment, NamedSubscription, RecordedHostCall};
pub use format::{Recording, RecordingError};
pub(crate) use recorder::CallRecorder;
pub use recorder::{RECORDING_BYTES_DEFAULT, RECORDING_BYTES_MAX, RecordError, RecordOptions};
pub(crate) use secrets::hide_in_call;
