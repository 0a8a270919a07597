//! What events cost in a plugin, and what its instances keep.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use informant_e2e::host::Host;
use informant_e2e::poll;
use informant_e2e::process_stats::{cpu, resident};

use super::{Measure, Scale};
use crate::contender::{Handled, Programs, handled_by_plugins};
use crate::load::Load;

/// For the slowest of them to load and to be told of everything, in a build that is not optimised.
const DEADLINE: Duration = Duration::from_secs(300);

/// A host with the plugin once, updates at a rate, and then more of the same plugin.
pub(super) async fn measure(
    file: &Path,
    code: &Path,
    scale: &Scale,
    programs: &Programs,
    load: &Load,
) -> anyhow::Result<Vec<(Measure, f64)>> {
    load.pods(scale.pods)?;
    let directory = tempfile::tempdir().context("a directory for plugins")?;
    let put = |number: u32| {
        let partial = directory.path().join("partial");
        std::fs::copy(file, &partial).context("copy the plugin")?;
        let place = directory.path().join(format!("hello-{number}.wasm"));
        std::fs::rename(&partial, &place).context("rename the plugin into place")
    };
    put(0)?;
    let code = code.display().to_string();
    let arguments = ["--code-cache", &code];
    let host =
        Host::start(&programs.informant(), load.kubeconfig(), directory.path(), &arguments).await?;
    let mut told = u64::from(scale.pods);
    let before = until(&host, told).await?;
    let used = cpu(host.id())?;
    let (rate, time) = scale.rate;
    load.rate(rate, time)?;
    let updates = (f64::from(rate) * time.as_secs_f64()).round();
    told += updates as u64;
    let after = until(&host, told).await?;
    let used = cpu(host.id())? - used;
    let [seconds, calls] = ["sum", "count"].map(|what| {
        let series = format!("informant_plugin_handle_seconds_{what}{{");
        total(&after, &series) - total(&before, &series)
    });
    ensure!(calls > 0.0, "nothing was told");
    let linear = total(&after, "informant_plugin_memory_bytes{");
    let alone = settled(&host, scale).await?;
    for number in 1..=scale.more {
        put(number)?;
    }
    told += u64::from(scale.more) * u64::from(scale.pods);
    until(&host, told).await?;
    let together = settled(&host, scale).await?;
    Ok(vec![
        (Measure::HandleSeconds, seconds / calls),
        (Measure::ProcessorSeconds, used.as_secs_f64() / updates),
        (Measure::LinearBytes, linear),
        (Measure::ResidentBytes, (together as f64 - alone as f64) / f64::from(scale.more)),
    ])
}

/// The host's metrics once plugins were told so much, or what was merged into that.
async fn until(host: &Host, told: u64) -> anyhow::Result<String> {
    let mut last = Ok(Handled::default());
    let what = format!("{told} events to be told");
    let found = poll::until(&what, DEADLINE, async || {
        let metrics = host.get("/metrics").ok()?.body;
        last = handled_by_plugins(&metrics);
        let handled = last.as_ref().ok()?;
        (handled.synced && handled.events + handled.coalesced >= told).then_some(metrics)
    });
    let found = found.await;
    found.with_context(|| format!("the last that was seen: {last:?}"))
}

async fn settled(host: &Host, scale: &Scale) -> anyhow::Result<u64> {
    tokio::time::sleep(scale.settle).await;
    resident(host.id())
}

/// All series of a metric, added up.
fn total(metrics: &str, begin: &str) -> f64 {
    let lines = metrics.lines().filter(|line| line.starts_with(begin));
    lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_added_up_and_no_other() {
        let metrics =
            "# TYPE a gauge\na{plugin=\"x\"} 1.5\na{plugin=\"y\"} 2\nab{plugin=\"x\"} 7\n";
        assert_eq!(total(metrics, "a{"), 3.5);
        assert_eq!(total(metrics, "none{"), 0.0);
    }
}
