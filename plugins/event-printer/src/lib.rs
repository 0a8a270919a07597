//! Prints each add, update and delete of pods, one line each:
//!
//! ```text
//! added pod default/web-1
//! updated pod default/web-1: phase Pending -> Running, ready 0/1 -> 1/1
//! deleted pod default/web-1
//! ```
//!
//! With `{"list": true}` it also lists all pods from the cache once, on the first event after the sync.

mod difference;
mod pod;

use informant_plugin::log::{self, Level};
use informant_plugin::prelude::*;
use pod::Pod;
use serde::Deserialize;
use std::fmt::Display;

const PODS: &str = "v1/pods";

/// What the plugin can be told by its configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    /// List all pods once the cache is complete.
    list: bool,
    /// Whose pods; none are all.
    namespaces: Vec<String>,
}

/// The plugin.
#[derive(Debug)]
pub struct EventPrinter {
    /// The list that was asked for is still to be printed.
    list_pending: bool,
}

impl Plugin for EventPrinter {
    fn describe(config: &Config) -> Result<Descriptor> {
        let namespaces = config.parse::<Options>()?.namespaces;
        let pods = Subscription::to(PODS).with_old();
        let pods = namespaces.into_iter().fold(pods, Subscription::in_namespace);
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(pods))
    }

    fn start(config: &Config) -> Result<Self> {
        Ok(Self { list_pending: config.parse::<Options>()?.list })
    }

    fn handle(&mut self, event: Event) -> Result {
        print(&event)?;
        if self.list_pending && indexer::has_synced(PODS)? {
            self.list_pending = false;
            list_pods()?;
        }
        Ok(())
    }
}

export_plugin!(EventPrinter);

/// The event's line. The text says what happened; the fields say what the pod is like now.
fn print(event: &Event) -> Result {
    let pod: Pod = event.object()?;
    let mut text = format!("{} pod {}", event.change(), event.key());
    if event.change() == Change::Updated {
        let differences = match event.old()? {
            Some(old) => difference::between(&old, &pod),
            None => Vec::new(),
        };
        text += ": ";
        text += &if differences.is_empty() {
            "nothing shown here".to_owned()
        } else {
            differences.join(", ")
        };
    }
    let (labels, reason) = (pod.labels(), event.reason());
    let mut fields: Vec<(&str, &dyn Display)> = vec![("phase", &pod.status.phase)];
    if event.change() != Change::Updated {
        fields.push(("labels", &labels));
    }
    if reason != Reason::Watch {
        fields.push(("reason", &reason));
    }
    log::log(Level::Info, text, &fields);
    Ok(())
}

fn list_pods() -> Result {
    for pod in indexer::list::<Pod>(PODS) {
        let metadata = pod?.metadata;
        info!("namespace: {}, name: {}", metadata.namespace, metadata.name);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
