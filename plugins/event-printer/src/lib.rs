//! Logs each change of a pod, one short line each:
//!
//! ```text
//! added pod default/web-1: Pending
//! updated pod default/web-1: Running, ready 1/1
//! deleted pod default/web-1
//! ```
//!
//! With `{"list": true}` it also logs the namespace and name of every pod in the cache, once after the
//! initial list.

mod difference;
mod pod;

use informant_plugin::prelude::*;
use informant_plugin::{Delivery, SyncAware};
use pod::Pod;
use serde::Deserialize;

const PODS: &str = "v1/pods";

/// The plugin's configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    /// List all pods after the initial list.
    list: bool,
    /// Namespaces of the pods; empty means all.
    namespaces: Vec<String>,
    /// A selector of the namespaces' labels; empty means all.
    #[serde(rename = "namespaceLabels")]
    namespace_labels: String,
    /// A selector of the pods' labels; empty means all.
    labels: String,
    /// Read no more than the pods' metadata.
    metadata: bool,
}

/// The plugin.
#[derive(Debug)]
pub struct EventPrinter {
    list: bool,
}

impl Plugin for EventPrinter {
    fn describe(config: &Config) -> Result<Descriptor> {
        let Options { namespaces, namespace_labels, labels, metadata, .. } = config.parse()?;
        let pods = Subscription::to(PODS).with_old();
        let pods = if metadata { pods.delivery(Delivery::Metadata) } else { pods };
        let pods = if labels.is_empty() { pods } else { pods.labels(labels) };
        let pods = match namespace_labels.is_empty() {
            true => pods,
            false => pods.in_namespaces_with(namespace_labels),
        };
        let pods = namespaces.into_iter().fold(pods, Subscription::in_namespace);
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(pods))
    }

    fn start(config: &Config) -> Result<Self> {
        Ok(Self { list: config.parse::<Options>()?.list })
    }

    fn handle(&mut self, event: Event) -> Result {
        print(&event)
    }
}

impl SyncAware for EventPrinter {
    fn synced(&mut self, _subscription: u32) -> Result {
        if self.list { list_pods() } else { Ok(()) }
    }
}

export_plugin!(EventPrinter, sync_aware);

/// Logs one line for the event. The watch is the usual reason for an event; any other reason is named.
fn print(event: &Event) -> Result {
    let pod: Pod = event.object()?;
    let mut text = format!("{} pod {}", event.change(), event.key());
    match event.change() {
        // Most pods of the beginning run: without that, their lines fit into a terminal of 80 columns.
        Change::Added if event.reason() == Reason::Initial && pod.status.phase == "Running" => {}
        Change::Added if !pod.status.phase.is_empty() => text += &format!(": {}", pod.status.phase),
        Change::Updated => {
            text += &format!(": {}", difference::between(event.old()?.as_ref(), &pod))
        }
        Change::Added | Change::Deleted => {}
    }
    if event.reason() != Reason::Watch {
        text += &format!(" ({})", event.reason());
    }
    info!("{text}");
    Ok(())
}

fn list_pods() -> Result {
    let mut is_empty = true;
    for pod in indexer::list::<Pod>(PODS) {
        let metadata = pod?.metadata;
        info!("namespace: {}, name: {}", metadata.namespace, metadata.name);
        is_empty = false;
    }
    if is_empty {
        info!("there are no pods");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
