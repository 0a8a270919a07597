//! The end of a host.

use super::PluginHost;

impl PluginHost {
    /// Stops all plugins at once, each with its own deadline.
    pub(super) async fn stop(mut self) {
        self.loads.shutdown().await;
        let stops = self.plugins.into_values().map(|plugin| plugin.stop());
        futures::future::join_all(stops).await;
        if let Some(recorder) = self.recorder {
            recorder.stop().await;
        }
        if let Some(state) = self.state {
            state.stop().await;
        }
    }
}
