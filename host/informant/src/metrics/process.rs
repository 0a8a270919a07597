//! What is shown of the process, under the names that all of Prometheus' clients have for it.

use super::{Snapshot, counters, gauges};
use informant_runtime::CONTRACT_VERSION;
use prometheus_client::encoding::DescriptorEncoder;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// When the first page was asked for or [`begin`] was called.
static STARTED: LazyLock<f64> = LazyLock::new(|| {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
});

/// The process has started.
pub(crate) fn begin() {
    LazyLock::force(&STARTED);
}

impl Snapshot {
    pub(super) fn encode_process(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let info = [("version", env!("CARGO_PKG_VERSION")), ("contract", CONTRACT_VERSION)];
        let info = vec![(info.to_vec(), 1.0)];
        gauges(encoder, "informant_build_info", "What this program is", info.into_iter())?;
        let used = clock_gettime(ClockId::ProcessCPUTime);
        let used = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
        let help = "Processor time of the process and all of its threads";
        counters(encoder, "process_cpu_seconds", help, [(vec![], used)].into_iter())?;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let of_status = |key: &str, unit: f64| number(&status, key).map(|number| number * unit);
        let descriptors = std::fs::read_dir("/proc/self/fd").ok();
        let numbers = [
            ("process_start_time_seconds", "When it started, since 1970", Some(*STARTED)),
            ("process_resident_memory_bytes", "Memory that it has", of_status("VmRSS", 1024.0)),
            ("process_virtual_memory_bytes", "Addresses that it has", of_status("VmSize", 1024.0)),
            ("process_threads", "Threads that it has", of_status("Threads", 1.0)),
            // The one that looks is open, too.
            ("process_open_fds", "Open files", descriptors.map(|open| open.count() as f64 - 1.0)),
            ("process_max_fds", "Files that it may have open", files_max()),
        ];
        for (name, help, value) in numbers {
            gauges(encoder, name, help, value.map(|value| (vec![], value)).into_iter())?;
        }
        Ok(())
    }
}

/// None where there is no bound.
fn files_max() -> Option<f64> {
    getrlimit(Resource::Nofile).current.map(|files| files as f64)
}

/// A line of `/proc/self/status`, such as `VmRSS:\t  1234 kB`.
fn number(status: &str, key: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_from_its_line() {
        let status = "Name:\tinformant\nVmRSSX:\t9 kB\nVmRSS:\t   1234 kB\nThreads:\t7\n";
        let check =
            |key: &str, expect: Option<f64>| assert_eq!(number(status, key), expect, "{key}");
        check("VmRSS", Some(1234.0));
        check("Threads", Some(7.0));
        check("Name", None);
        check("VmSize", None);
    }
}
