//! Recordings: the calls between a live plugin and its host, in a file. `informant replay` plays them back to the same
//! or another build of the plugin.
//!
//! A recording begins with an instance. It has every call of the guest, the guest's calls of host functions, their
//! answers, and the end of each call. `host/docs/designs/recordings.md` has the recorded and the hidden parts, with
//! reasons. A recorded plugin never waits: a recording that cannot be written as fast as its plugin works ends, and
//! the log reports that.

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
