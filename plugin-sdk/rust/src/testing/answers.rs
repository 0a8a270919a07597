//! The answers that a test sets, converted to the contract's types.

use crate::bindings::informant::plugin::http::Error as HttpAnswer;
use crate::bindings::informant::plugin::kube::{Error as WriteAnswer, StatusError};
use crate::http::Error as HttpError;
use crate::imports::milliseconds;
use crate::kube::{Error as WriteError, Status};

pub(super) fn of_write(error: WriteError) -> WriteAnswer {
    match error {
        WriteError::NotGranted(text) => WriteAnswer::NotGranted(text),
        WriteError::NotLeader => WriteAnswer::NotLeader,
        WriteError::Invalid(text) => WriteAnswer::Invalid(text),
        WriteError::Status(Status { code, reason, message, retry_after }) => {
            let retry_after_ms = retry_after.map(milliseconds);
            WriteAnswer::Status(StatusError { code, reason, message, retry_after_ms })
        }
        WriteError::Transport(text) | WriteError::Json(text) => WriteAnswer::Transport(text),
    }
}

pub(super) fn of_http(error: HttpError) -> HttpAnswer {
    match error {
        HttpError::NotGranted(text) => HttpAnswer::NotGranted(text),
        HttpError::NotLeader => HttpAnswer::NotLeader,
        HttpError::Invalid(text) => HttpAnswer::Invalid(text),
        HttpError::TimedOut(text) => HttpAnswer::TimedOut(text),
        HttpError::TooLarge(text) => HttpAnswer::TooLarge(text),
        HttpError::Transport(text) => HttpAnswer::Transport(text),
        // The host never gives these errors: the plugin's SDK makes them from an answer.
        other @ (HttpError::Status(_) | HttpError::Json(_)) => {
            HttpAnswer::Transport(other.to_string())
        }
    }
}
