//! Waiting for something on the other side of a socket or a process: asked again until it is so, with a
//! deadline. The only place of this crate that sleeps.

use std::time::{Duration, Instant};

/// Between two questions: short beside a process's start, long beside the cost of a question.
const INTERVAL: Duration = Duration::from_millis(10);

/// Asks until `question` answers with something, or gives up with `what` in the text.
///
/// The last answer's reason is not known here: put it into `what` where it helps.
pub async fn until<T>(
    what: &str,
    deadline: Duration,
    mut question: impl AsyncFnMut() -> Option<T>,
) -> anyhow::Result<T> {
    let begin = Instant::now();
    loop {
        if let Some(answer) = question().await {
            return Ok(answer);
        }
        if begin.elapsed() >= deadline {
            anyhow::bail!("waited {deadline:?} in vain for {what}");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Lets time go by where a test's load is to come at times of its own choice. Nothing is waited for.
pub async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
