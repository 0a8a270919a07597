//! The end of a host: its plugins have one deadline together, because no other host leads before their end.

use super::PluginHost;
use crate::enumerated::first_texts;
use crate::plugin_name::PluginName;
use futures::stream::{FuturesUnordered, StreamExt as _};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tracing::warn;

/// The time of all plugins together for the calls that are under way, and for `stop`. It is more than twice the default
/// of `stopTime`, and a fifth of the time that a program has for its end.
pub const STOPS_TIME_MAX: Duration = Duration::from_secs(5);
/// The most names in the log's line.
const NAMES_MAX: usize = 20;

impl PluginHost {
    /// Stops all plugins at once. Those that have not ended in time are cut off.
    pub(super) async fn stop(mut self) {
        self.loads.shutdown().await;
        let stops = self.plugins.into_iter().map(|(name, plugin)| (name, plugin.stop()));
        let late = late(stops, self.stops_time).await;
        if !late.is_empty() {
            warn!(plugins = late.len(), "{}", text(&late, self.stops_time));
            // A write that was sent has its answer before another host leads.
            self.preparer.powers.cluster.end().await;
            let threads = self.preparer.threads.clone();
            if let Err(error) = spawn_blocking(move || threads.end()).await {
                warn!("the threads of plugins did not end well: {error}");
            }
        }
        if let Some(recorder) = self.recorder {
            recorder.stop().await;
        }
        if let Some(state) = self.state {
            state.stop().await;
        }
    }
}

/// Waits for the ends of plugins, for so long at most. Returns those that have not ended.
async fn late<F: Future<Output = ()>>(
    stops: impl Iterator<Item = (PluginName, F)>,
    time: Duration,
) -> BTreeSet<PluginName> {
    let mut late = BTreeSet::new();
    let mut stops: FuturesUnordered<_> = stops
        .map(|(name, stop)| {
            late.insert(name.clone());
            async move {
                stop.await;
                name
            }
        })
        .collect();
    let all = async {
        while let Some(name) = stops.next().await {
            late.remove(&name);
        }
    };
    // The late ones are left.
    let _ = tokio::time::timeout(time, all).await;
    late
}

/// The log's line.
fn text(late: &BTreeSet<PluginName>, time: Duration) -> String {
    let names = late.iter().map(PluginName::as_str);
    // No name is long.
    let names = first_texts(names, NAMES_MAX, usize::MAX).join(", ");
    let time = time.as_secs_f64();
    format!("cut off {time} s after the end of the host began, without the end of `stop`: {names}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant, sleep};

    /// Plugins that take so many ms to stop, of which `expect` have not ended after 5 s.
    async fn check(stops: &[u64], expect: &[usize], took: u64) {
        let name = |number: usize| format!("p{number}").parse::<PluginName>().expect("a name");
        let began = Instant::now();
        let stops = stops.iter().enumerate();
        let stops = stops.map(|(number, ms)| (name(number), sleep(Duration::from_millis(*ms))));
        let late = late(stops, STOPS_TIME_MAX).await;
        assert_eq!(late, expect.iter().map(|number| name(*number)).collect());
        assert_eq!(began.elapsed(), Duration::from_millis(took));
    }

    #[tokio::test(start_paused = true)]
    async fn the_stops_of_all_plugins_have_one_deadline() {
        check(&[], &[], 0).await;
        check(&[10, 4_000, 30], &[], 4_000).await;
        check(&[10, 4_999, 8_000, 60_000, 20], &[2, 3], 5_000).await;
    }

    #[test]
    fn the_line_has_some_names_and_the_number_of_the_others() {
        let name = |number: usize| format!("p{number:02}").parse().expect("a name");
        let shown = |count: usize| text(&(0..count).map(name).collect(), STOPS_TIME_MAX);
        let begin = "cut off 5 s after the end of the host began, without the end of `stop`: p00";
        assert_eq!(shown(1), begin);
        assert_eq!(shown(2), format!("{begin}, p01"));
        assert!(shown(22).ends_with(", p19, (2 more)"));
    }
}
