//! Many informers on few threads: what a host takes that follows many resources with few objects each.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use informant_e2e::host::Host;
use informant_e2e::poll;
use informant_e2e::process_stats::{cpu, peak, resident, threads};

use crate::contender::{Contender, Handled, handled_by_plugins};
use crate::load::Load;
use crate::load_server::other_resource;
use crate::programs::Programs;
use crate::results::{Metric, Run};
use crate::stolen::ProcessorTime;
use crate::subject::Subject;

/// A plugin in WebAssembly text that takes events and does nothing; its descriptor is filled in.
const GUEST: &str = include_str!("../../runtime/benches/guest.wat");
/// Subscriptions of each plugin: as many as the guest's memory has room for in its descriptor.
const RESOURCES_A_PLUGIN: u32 = 10;
const SYNC_DEADLINE: Duration = Duration::from_secs(120);

/// Follows so many resources with so many objects each, told to ten times fewer plugins.
pub async fn resources(
    programs: &Programs,
    (resources, objects): (u32, u32),
    settle: Duration,
) -> anyhow::Result<Run> {
    let scratch = tempfile::tempdir().context("a directory for plugins")?;
    let begin = ProcessorTime::now()?;
    let server = programs.load_server();
    let load = Load::start_with_resources(&server, resources, objects, scratch.path())?;
    let directory = scratch.path().join("plugins");
    std::fs::create_dir(&directory).context("make a directory for plugins")?;
    let numbers: Vec<u32> = (0..resources).collect();
    for (plugin, some) in numbers.chunks(RESOURCES_A_PLUGIN as usize).enumerate() {
        put(&directory.join(format!("follows-{plugin}.wasm")), some)?;
    }
    let started = Instant::now();
    let host = Host::start(&programs.informant(), load.kubeconfig(), &directory, &[]).await?;
    let all = u64::from(resources) * u64::from(objects);
    let what = format!("{all} objects of {resources} resources to be told");
    let told = async || {
        let handled = handled_by_plugins(&host.get("/metrics").ok()?.body).ok()?;
        let Handled { events, coalesced, .. } = handled;
        (events + coalesced >= all).then_some(())
    };
    poll::measured(&what, SYNC_DEADLINE, told).await?;
    let seconds = started.elapsed().as_secs_f64();
    let (used, most) = (cpu(host.id())?, peak(host.id())?);
    tokio::time::sleep(settle).await;
    let metrics = BTreeMap::from([
        (Metric::SyncSeconds, seconds),
        (Metric::SyncCpu, used.as_secs_f64()),
        (Metric::SyncPeak, most as f64),
        (Metric::Settled, resident(host.id())? as f64),
        (Metric::Threads, threads(host.id())? as f64),
        (Metric::Stolen, ProcessorTime::now()?.stolen_since(begin)),
    ]);
    let (contender, subject) = (Contender::Informant, Subject::Resources);
    let (pods, handlers) = (objects, resources);
    Ok(Run { contender, subject, pods, handlers, metrics, series: Vec::new() })
}

/// A plugin that subscribes to the resources of these numbers.
fn put(place: &Path, numbers: &[u32]) -> anyhow::Result<()> {
    std::fs::write(place, guest(numbers)?).context("write a plugin")
}

fn guest(numbers: &[u32]) -> anyhow::Result<Vec<u8>> {
    let one = |number: &u32| format!(r#"{{"resource":"{}"}}"#, other_resource(*number));
    let subscriptions: Vec<String> = numbers.iter().map(one).collect();
    let descriptor = format!(r#"{{"version":"1","subscriptions":[{}]}}"#, subscriptions.join(","));
    let [low, high] = u16::try_from(descriptor.len()).context("a short descriptor")?.to_le_bytes();
    let text = GUEST.replace("DESCRIPTOR", &descriptor.replace('"', "\\\""));
    let text = text.replace("LENGTH", &format!("{low:02x}\\{high:02x}"));
    wat::parse_str(text).context("the guest is not well formed")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the guest hands out begins at 1024, and its descriptor at 512.
    #[test]
    fn a_descriptor_of_as_many_resources_has_room() {
        let numbers: Vec<u32> = (90..90 + RESOURCES_A_PLUGIN).collect();
        let wasm = guest(&numbers).expect("it is well formed");
        let begin = memchr::memmem::find(&wasm, b"{\"version\"").expect("its descriptor");
        let end = memchr::memmem::find(&wasm[begin..], b"]}").expect("its end") + 2;
        assert!(end <= 512, "{end} bytes");
        let descriptor: serde_json::Value =
            serde_json::from_slice(&wasm[begin..begin + end]).expect("it is JSON");
        let subscriptions = descriptor["subscriptions"].as_array().expect("a list");
        assert_eq!(subscriptions.len(), numbers.len());
        assert_eq!(subscriptions[0]["resource"], "bench.dev/v1/r90");
    }
}
