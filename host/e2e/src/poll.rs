//! Waiting for something on the other side of a socket or a process: asked again until it is so, with a
//! deadline. The only place of this crate that sleeps.

use std::time::{Duration, Instant};

/// Between two questions at first: short beside a process's start.
const INTERVAL: Duration = Duration::from_millis(10);
/// Later it is this share of the time so far, up to this: thousands of questions to an unoptimised host would keep a
/// processor busy.
const SHARE: u32 = 20;
const INTERVAL_MAX: Duration = Duration::from_millis(200);

/// Asks until `question` answers with something, or gives up with `what` in the text.
///
/// The last answer's reason is not known here: put it into `what` where it helps.
pub async fn until<T>(
    what: &str,
    deadline: Duration,
    question: impl AsyncFnMut() -> Option<T>,
) -> anyhow::Result<T> {
    ask(what, deadline, INTERVAL_MAX, question).await
}

/// The same, asked every 10 ms: where the time until the answer is measured.
pub async fn measured<T>(
    what: &str,
    deadline: Duration,
    question: impl AsyncFnMut() -> Option<T>,
) -> anyhow::Result<T> {
    ask(what, deadline, INTERVAL, question).await
}

async fn ask<T>(
    what: &str,
    deadline: Duration,
    interval_max: Duration,
    mut question: impl AsyncFnMut() -> Option<T>,
) -> anyhow::Result<T> {
    let begin = Instant::now();
    loop {
        if let Some(answer) = question().await {
            return Ok(answer);
        }
        let waited = begin.elapsed();
        if waited >= deadline {
            anyhow::bail!("waited {deadline:?} in vain for {what}");
        }
        tokio::time::sleep((waited / SHARE).clamp(INTERVAL, interval_max)).await;
    }
}

/// Lets time go by where a test's load is to come at times of its own choice. Nothing is waited for.
pub async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
