//! One granted write on its way: its turn, the grant at that moment, and the answer.

use super::{Json, KubeFunctionResult};
use crate::contract::limits::Limits;
use crate::guest::call_deadline::CallDeadline;
use crate::log_budget::{HostLine, LogBudget};
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::outside::cluster_writer::{WriteError, WriteRequest};
use crate::outside::write::Write;
use crate::powers::PluginPowers;
use std::time::{Duration, Instant};

/// The result of a granted write.
pub(super) enum Sending {
    Answered(KubeFunctionResult<Json, WriteError>),
    /// Another host leads; the write was not sent.
    NotLeader,
    /// The call's time was over before the write's turn.
    Unsent,
    /// The grant was taken away before the write's turn.
    NotGranted(String),
}

impl Sending {
    /// The answer of the API server, or the missing answer.
    pub(super) fn answer(&self) -> Option<&KubeFunctionResult<Json, WriteError>> {
        match self {
            Self::Answered(answer) => Some(answer),
            Self::NotLeader | Self::Unsent | Self::NotGranted(_) => None,
        }
    }
}

/// Waits for a turn and then for the answer, within the call's waiting time. The request is made at its turn, and not
/// if no time is left.
pub(super) async fn send(
    clock: &CallDeadline,
    limits: &Limits,
    powers: &PluginPowers,
    (plugin, log_budget): (&str, &LogBudget),
    write: Write,
) -> Sending {
    let dry_run = powers.is_dry_run();
    let (verb, answered) = (write.verb().name(), write.answered());
    let (mut sent, mut refused, began) = (None, None, Instant::now());
    let asked = async {
        let per_second = limits.cluster_writes_per_second;
        let turn = powers.powers.cluster.turn(plugin, per_second).await?;
        // Invariant 34.
        refused = powers.check_write(plugin, &write).err();
        if refused.is_some() {
            return None;
        }
        let request = write.request(plugin, dry_run, limits.event_bytes_max);
        let service_account = powers.settings.service_account.clone();
        let request = WriteRequest { service_account, ..request };
        sent = Some(request.uri.clone());
        Some(turn.write(request).await)
    };
    let answer = clock.wait(asked).await;
    powers.counters.cluster_write_seconds.observe(began.elapsed());
    if let Some(text) = refused {
        return Sending::NotGranted(text);
    }
    let (uri, answer) = match (sent, answer) {
        (_, Some(None | Some(Err(WriteError::NotLeader)))) => return Sending::NotLeader,
        (None, _) => return Sending::Unsent,
        (Some(uri), None) => (uri, Err(WriteError::Transport(gave_up(limits.wait_time)))),
        (Some(uri), Some(Some(answer))) => {
            (uri, answer.map_err(|error| answered.of_refusal(error)))
        }
    };
    if dry_run {
        let said = answer.as_ref().map_or_else(ToString::to_string, |_| "it would be done".into());
        let text = format!("dry run: {verb} {uri}: {}", one_line(&said, ERROR_BYTES_MAX));
        log_budget.tell(plugin, HostLine::info(&text), Instant::now());
    }
    Sending::Answered(answer.and_then(|body| answered.of(body)))
}

fn gave_up(wait_time: Duration) -> String {
    let time = wait_time.as_millis();
    format!(
        "no answer in time: a call waits {time} ms at most for all its requests (limits.waitTime); it may have been done"
    )
}
