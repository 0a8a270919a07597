//! What any address serves: probes and metrics. It says nothing of the cluster's content.
//!
//! A probe is answered from what is there, without waiting for anything.

use super::answers::message;
use super::heartbeat::Heartbeat;
use super::operations::{self, ServedOperation};
use super::probe_checks::{Check, page};
use super::readiness::checks;
use super::scrapes::Scrapes;
use super::server::ServerState;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Pages of metrics are those of one listener.
pub(super) fn table(scrapes: Scrapes) -> Vec<ServedOperation> {
    let metrics = move |State(shared): State<Arc<ServerState>>| async move {
        scrapes.serve(shared.sources.clone())
    };
    vec![
        operations::HEALTHZ.by(get(livez)),
        operations::LIVEZ.by(get(livez)),
        operations::READYZ.by(get(readyz)),
        operations::METRICS.by(get(metrics)),
    ]
}

pub(super) async fn method_not_allowed() -> Response {
    let text = "POST is for actions on plugins, on an address that serves them; everything else is read with GET";
    message(StatusCode::METHOD_NOT_ALLOWED, text)
}

async fn livez(State(shared): State<Arc<ServerState>>, RawQuery(query): RawQuery) -> Response {
    live(&shared.heartbeat, query.as_deref())
}

/// Alive while the async runtime and the tasks that have work go on. A cluster that is away, or a plugin that fails, says nothing of that.
pub(super) fn live(heartbeat: &Heartbeat, query: Option<&str>) -> Response {
    let checks = [
        Check::new("runtime", heartbeat.check_runtime()),
        Check::new("tasks", heartbeat.check_tasks()),
    ];
    answer("livez", &checks, query)
}

fn answer(probe: &str, checks: &[Check], query: Option<&str>) -> Response {
    match checks.iter().all(Check::passes) {
        true if !is_verbose(query) => "ok\n".into_response(),
        true => page(probe, checks).into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, page(probe, checks)).into_response(),
    }
}

/// Ready once nothing is missing and, where one is elected, some host leads; from then on for as long as something is followed. A plugin added later
/// never makes it unready. A check a line, with `?verbose` or where one fails.
async fn readyz(State(shared): State<Arc<ServerState>>, RawQuery(query): RawQuery) -> Response {
    if shared.stopping.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    let sources = &shared.sources;
    let was_ready = shared.ready.load(Ordering::Acquire);
    let mut checks = checks(&sources.plugins, &sources.informers, was_ready);
    if let Some(candidate) = sources.candidate.as_ref().filter(|_| !was_ready) {
        checks.push(Check::new("leader", candidate.check_elected()));
    }
    let is_ready = checks.iter().all(Check::passes);
    shared.ready.fetch_or(is_ready, Ordering::AcqRel);
    answer("readyz", &checks, query.as_deref())
}

/// As a Kubernetes API server takes it: the word, whatever its value.
fn is_verbose(query: Option<&str>) -> bool {
    let mut parts = query.unwrap_or_default().split('&');
    parts.any(|part| part.split('=').next() == Some("verbose"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;
    use informant_cache::Pulse;
    use std::cell::Cell;
    use std::time::Duration;

    /// The answer of `/livez` after the host has looked for so many seconds at a task, which makes so many steps in each.
    async fn check(seconds: u64, pulse: Pulse, expect: (u16, &str)) {
        let (heartbeat, steps) = (Heartbeat::default(), Cell::new(0));
        let look = || {
            steps.set(steps.get() + pulse.steps);
            vec![("the task".to_owned(), Pulse { steps: steps.get(), ..pulse })]
        };
        let looks = async { tokio::join!(heartbeat.beat(), heartbeat.look(look)) };
        let time = Duration::from_secs(seconds) + Duration::from_millis(500);
        assert!(tokio::time::timeout(time, looks).await.is_err(), "they never end");
        let answer = live(&heartbeat, None);
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("it is there").to_bytes();
        assert_eq!((status, String::from_utf8_lossy(&body).as_ref()), expect);
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_has_work_and_stands_still_for_two_minutes_fails_the_probe() {
        let failed = "[+]runtime ok\n[-]tasks the task has work, and has not made a step for 120 s\nlivez check failed\n";
        check(120, Pulse { steps: 0, has_work: true }, (200, "ok\n")).await;
        check(121, Pulse { steps: 0, has_work: true }, (503, failed)).await;
        check(600, Pulse { steps: 1, has_work: true }, (200, "ok\n")).await;
        check(600, Pulse { steps: 0, has_work: false }, (200, "ok\n")).await;
    }
}
