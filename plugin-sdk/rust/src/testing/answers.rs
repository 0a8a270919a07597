//! The answers that a test sets, in the contract's words.

use crate::bindings::informant::plugin::{http as http_contract, kube as kube_contract};
use crate::imports::milliseconds;
use crate::{http, kube};

pub(super) fn of_kube(error: kube::Error) -> kube_contract::Error {
    match error {
        kube::Error::NotGranted(text) => kube_contract::Error::NotGranted(text),
        kube::Error::NotLeader => kube_contract::Error::NotLeader,
        kube::Error::Invalid(text) => kube_contract::Error::Invalid(text),
        kube::Error::Status(kube::Status { code, reason, message, retry_after }) => {
            let retry_after_ms = retry_after.map(milliseconds);
            kube_contract::Error::Status(kube_contract::StatusError {
                code,
                reason,
                message,
                retry_after_ms,
            })
        }
        kube::Error::Transport(text) | kube::Error::Json(text) => {
            kube_contract::Error::Transport(text)
        }
    }
}

pub(super) fn of_http(error: http::Error) -> http_contract::Error {
    match error {
        http::Error::NotGranted(text) => http_contract::Error::NotGranted(text),
        http::Error::NotLeader => http_contract::Error::NotLeader,
        http::Error::Invalid(text) => http_contract::Error::Invalid(text),
        http::Error::TimedOut(text) => http_contract::Error::TimedOut(text),
        http::Error::TooLarge(text) => http_contract::Error::TooLarge(text),
        http::Error::Transport(text) => http_contract::Error::Transport(text),
        // What only a plugin makes of an answer is none that a host gives.
        other @ (http::Error::Status(_) | http::Error::Json(_)) => {
            http_contract::Error::Transport(other.to_string())
        }
    }
}
