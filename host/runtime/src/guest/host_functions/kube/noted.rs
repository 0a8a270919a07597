//! The writes of a call as the history shows them: `patch v1/pods/status shop/web: ok`.

use super::Error;
use crate::guest::guest_state::GuestState;
use crate::names::is_of_secrets;
use crate::outside::write::NamedObject;
use std::fmt::Write as _;

/// The bytes of all writes of one call. Further writes are not noted.
const WROTE_BYTES_MAX: usize = 255;

impl GuestState {
    /// Notes the end of a write. The names of Secrets are never shown.
    pub(super) fn note_write<T>(
        &mut self,
        verb: &str,
        named: &NamedObject<'_>,
        written: &Result<T, Error>,
    ) {
        if self.notes.wrote.len() >= WROTE_BYTES_MAX {
            return;
        }
        let NamedObject { resource, namespace, name, subresource } = *named;
        let separator = if self.notes.wrote.is_empty() { "" } else { ", " };
        // Writing to a String never fails.
        let _ = write!(self.notes.wrote, "{separator}{verb} {resource}");
        if !subresource.is_empty() {
            let _ = write!(self.notes.wrote, "/{subresource}");
        }
        if !is_of_secrets(resource) {
            let slash = if namespace.is_empty() { "" } else { "/" };
            let _ = write!(self.notes.wrote, " {namespace}{slash}{name}");
        }
        let _ = match written {
            Ok(_) => write!(self.notes.wrote, ": ok"),
            Err(Error::Status(status)) => {
                write!(self.notes.wrote, ": {} {}", status.code, status.reason)
            }
            Err(Error::NotGranted(_)) => write!(self.notes.wrote, ": not granted"),
            Err(Error::NotLeader) => write!(self.notes.wrote, ": not leader"),
            Err(Error::Transport(_)) => write!(self.notes.wrote, ": no answer"),
            Err(Error::Invalid(_)) => write!(self.notes.wrote, ": invalid"),
        };
    }
}
