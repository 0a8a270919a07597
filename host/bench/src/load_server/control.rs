//! The commands, as POST requests on a port of their own; each answers with the [`Report`] after it.
//!
//! | path | does |
//! | --- | --- |
//! | `/pods?count=20000` | sets the number of pods; everybody lists again |
//! | `/burst?updates=100000` | as many updates at once |
//! | `/rate?perSecond=1000&seconds=10` | updates at that rate; answers when they are made |
//! | `/expire?changed=100` | changes pods in silence and ends all watches with 410 |
//! | `/report` | only reports |

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use axum::extract::{Query, State};
use axum::routing::post;
use axum::{Json, Router};
use http::StatusCode;
use serde::Deserialize;
use tokio::time::MissedTickBehavior;

use crate::load_server::cluster::{Cluster, Report};

/// Between two handfuls of updates at a fixed rate.
const TICK: Duration = Duration::from_millis(1);

type Answer = Result<Json<Report>, (StatusCode, String)>;

#[derive(Deserialize)]
struct Pods {
    count: u32,
}

#[derive(Deserialize)]
struct Burst {
    updates: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rate {
    per_second: u32,
    seconds: f64,
}

#[derive(Deserialize)]
struct Expire {
    changed: usize,
}

pub(crate) fn router(cluster: Arc<Cluster>) -> Router {
    Router::new()
        .route("/pods", post(pods))
        .route("/burst", post(burst))
        .route("/rate", post(rate))
        .route("/expire", post(expire))
        .route("/report", post(report))
        .with_state(cluster)
}

async fn pods(State(cluster): State<Arc<Cluster>>, Query(pods): Query<Pods>) -> Answer {
    answer(&cluster, cluster.reset(pods.count, now()))
}

async fn burst(State(cluster): State<Arc<Cluster>>, Query(burst): Query<Burst>) -> Answer {
    answer(&cluster, cluster.update(burst.updates, now()))
}

async fn expire(State(cluster): State<Arc<Cluster>>, Query(expire): Query<Expire>) -> Answer {
    answer(&cluster, cluster.expire(expire.changed, now()))
}

async fn report(State(cluster): State<Arc<Cluster>>) -> Answer {
    answer(&cluster, Ok(()))
}

/// Late ticks make up for what they missed, so that the rate holds; the stamp is of the moment of the update all the
/// same, and a client that falls behind is not waited for.
async fn rate(State(cluster): State<Arc<Cluster>>, Query(rate): Query<Rate>) -> Answer {
    let begin = Instant::now();
    let all = (f64::from(rate.per_second) * rate.seconds).round() as u64;
    let mut made = 0;
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    while made < all {
        ticks.tick().await;
        let due = (begin.elapsed().as_secs_f64() * f64::from(rate.per_second)) as u64;
        let due = due.min(all) - made;
        if due > 0 {
            made += due;
            cluster.update(due as usize, now()).map_err(refused)?;
        }
    }
    answer(&cluster, Ok(()))
}

fn answer(cluster: &Cluster, outcome: anyhow::Result<()>) -> Answer {
    outcome.map_err(refused)?;
    Ok(Json(cluster.report()))
}

fn refused(error: anyhow::Error) -> (StatusCode, String) {
    (StatusCode::BAD_REQUEST, format!("{error:#}"))
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
