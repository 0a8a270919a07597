//! Logs the stamp that the load server wrote into an updated pod. A guest has no clock: the time at which the host takes
//! the line, at the end of `handle`, is the time that the benchmark counts to.

use informant_plugin::log::{Level, log};
use informant_plugin::prelude::*;

/// What stands before the stamp's 19 digits.
const BEFORE: &[u8] = b"\"bench.informant.dev/stamp\":\"";

/// The plugin; it remembers nothing.
pub struct Stamp;

impl Plugin for Stamp {
    fn describe(_: &Config) -> Result<Descriptor> {
        let pods = Subscription::to("v1/pods").only([Change::Updated]).with_old();
        Ok(Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(pods))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        let json = event.object_json().unwrap_or_default();
        let begin = memchr::memmem::find(json, BEFORE).map(|at| at + BEFORE.len());
        let stamp = begin.and_then(|begin| json.get(begin..begin + 19)).unwrap_or_default();
        log(Level::Info, String::from_utf8_lossy(stamp), &[]);
        Ok(())
    }
}

export_plugin!(Stamp);
