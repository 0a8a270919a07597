//! The ends of writes. Each has a word, for counters. A span has the API server's status, or the word if there is none.

use crate::outside::cluster_writer::WriteError;

/// The reason for which a plugin has no answer of a success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotWritten {
    NotGranted(String),
    /// The plugin's arguments make no write.
    Invalid(String),
    /// The write was granted, and failed.
    Failed(WriteError),
}

/// The word for the end of a write.
pub(super) fn end_word<T>(written: &Result<T, NotWritten>) -> &'static str {
    let failed = match written {
        Ok(_) => return "ok",
        Err(NotWritten::NotGranted(_)) => return "not-granted",
        Err(NotWritten::Invalid(_)) => return "invalid",
        Err(NotWritten::Failed(failed)) => failed,
    };
    match failed {
        WriteError::Status { code: 409, .. } => "conflict",
        WriteError::Status { code: 429, .. } => "throttled",
        WriteError::Status { .. } => "refused",
        WriteError::NotLeader => "not-leader",
        WriteError::Unsent(_) => "unsent",
        WriteError::Transport(_) => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outside::cluster_writer::{
        ClusterWriter as _, NoCluster, WriteRequest, WriteTarget,
    };
    use futures::FutureExt as _;

    #[track_caller]
    fn check(failed: WriteError, expect: &str) {
        assert_eq!(end_word::<()>(&Err(NotWritten::Failed(failed))), expect);
    }

    #[test]
    fn a_write_that_was_not_sent_differs_from_one_without_an_answer() {
        check(WriteError::Unsent("it names two users".to_owned()), "unsent");
        check(WriteError::Transport("connection reset".to_owned()), "unknown");
        let resource = "v1/pods".parse().expect("a resource");
        let [namespace, name, subresource] = [const { String::new() }; 3];
        let target = WriteTarget { resource, namespace, name, subresource };
        let request = WriteRequest {
            method: "POST",
            uri: String::new(),
            target,
            content_type: "application/json",
            body: Vec::new(),
            answer_bytes_max: 0,
            service_account: None,
        };
        let answer = NoCluster.write(request).now_or_never().expect("at once");
        check(answer.expect_err("there is no cluster"), "unsent");
    }
}
