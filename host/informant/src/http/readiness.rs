//! What a host waits for before it is ready.

use informant_cache::SharedInformerFactory;
use informant_runtime::Plugins;

/// What is missing; nothing once the directories were looked at, no plugin is in its first load (up to a minute) and every informer has synced or was
/// told by the API server why it cannot.
pub(crate) fn not_ready(plugins: &Plugins, informers: &SharedInformerFactory) -> Vec<String> {
    let mut missing = Vec::new();
    if !plugins.settled() {
        missing.push("plugins are being loaded for the first time".to_owned());
    }
    for informer in informers.informers() {
        if !informer.state().is_settled() {
            let why =
                informer.state().message().map_or_else(String::new, |text| format!(": {text}"));
            missing.push(format!("{} is not synced{why}", informer.resource()));
        }
    }
    missing
}
