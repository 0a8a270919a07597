//! A host that records the calls of its plugins.

use super::{PluginHost, StartError};
use crate::guest::host_functions::HostFunctions;
use crate::recording::{CallRecorder, RecordOptions};

impl PluginHost {
    /// Records plugins that are loaded from here on: call this before [`run`](Self::run).
    pub fn record(&mut self, options: RecordOptions) -> Result<(), StartError> {
        let recorder = CallRecorder::start(options)?;
        self.preparer.functions = HostFunctions::taped(&self.preparer.engine)?;
        self.preparer.tapes = Some(recorder.tapes());
        self.recorder = Some(recorder);
        Ok(())
    }
}
