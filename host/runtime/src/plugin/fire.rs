//! Calls a schedule on request.

use super::Plugin;
use crate::delivery::timers::Now;
use crate::plugin::admin::AdminError;

impl Plugin {
    /// Has a schedule fire now, in addition to its own times: the only one, if none is named.
    pub(crate) fn fire(&self, schedule: Option<&str>) -> Result<String, AdminError> {
        let fired = self.core.queue.change(|it| it.fire(schedule, Now::read()));
        let schedule = fired.map_err(AdminError::Refused)?;
        let note = match (self.paused, self.core.state().is_tripped()) {
            (true, _) => " once the plugin is resumed",
            (false, true) => " when the tripped plugin is tried again, or is resumed",
            (false, false) => "",
        };
        Ok(format!("schedule {schedule} is called{note}"))
    }
}
