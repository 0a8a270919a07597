//! The writes of a call as the history shows them, `patch v1/pods/status shop/web: ok`, and as spans.

use super::not_written::{NotWritten, end_word};
use crate::guest::call_trace::{RequestEnd, TracedWrite};
use crate::guest::guest_state::GuestState;
use crate::names::is_of_secrets;
use crate::outside::cluster_writer::WriteError;
use crate::outside::write::NamedObject;
use std::fmt::Write as _;

/// The bytes of all writes of one call. Further writes are not noted.
const WROTE_BYTES_MAX: usize = 255;

impl GuestState {
    /// Notes the end of a write. The names of Secrets are never shown. `traced` is a write that has a span.
    pub(super) fn note_write<T>(
        &mut self,
        (verb, named): (&str, &NamedObject<'_>),
        written: &Result<T, NotWritten>,
        traced: Option<TracedWrite>,
    ) {
        if let Some(traced) = traced {
            self.end_write(traced, &end(written));
        }
        if self.notes.wrote.len() >= WROTE_BYTES_MAX {
            return;
        }
        let NamedObject { resource, namespace, name, subresource } = *named;
        let separator = if self.notes.wrote.is_empty() { "" } else { ", " };
        // Writing to a String never fails.
        let _ = write!(self.notes.wrote, "{separator}{verb} {}", cut(resource));
        if !subresource.is_empty() {
            let _ = write!(self.notes.wrote, "/{}", cut(subresource));
        }
        if !is_of_secrets(resource) {
            let slash = if namespace.is_empty() { "" } else { "/" };
            let _ = write!(self.notes.wrote, " {}{slash}{}", cut(namespace), cut(name));
        }
        let _ = match written {
            Ok(_) => write!(self.notes.wrote, ": ok"),
            Err(NotWritten::NotGranted(_)) => write!(self.notes.wrote, ": not granted"),
            Err(NotWritten::Invalid(_)) => write!(self.notes.wrote, ": invalid"),
            Err(NotWritten::Failed(WriteError::Status { code, reason, .. })) => {
                write!(self.notes.wrote, ": {code} {}", cut(reason))
            }
            Err(NotWritten::Failed(WriteError::NotLeader)) => {
                write!(self.notes.wrote, ": not leader")
            }
            Err(NotWritten::Failed(WriteError::Unsent(_))) => {
                write!(self.notes.wrote, ": not sent")
            }
            Err(NotWritten::Failed(WriteError::Transport(_))) => {
                write!(self.notes.wrote, ": no answer")
            }
        };
    }
}

/// No more of a text is shown, and a guest's may have megabytes.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(WROTE_BYTES_MAX)]
}

fn end<T>(written: &Result<T, NotWritten>) -> RequestEnd {
    let status = match written {
        Err(NotWritten::Failed(WriteError::Status { code, .. })) => Some(*code),
        _ => None,
    };
    RequestEnd { status, error: written.is_err().then(|| end_word(written)) }
}
