//! Metrics of the process, under the names that all Prometheus clients use.

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of the first page or of the call of [`begin`].
static STARTED: LazyLock<f64> = LazyLock::new(|| {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
});

/// Records the start of the process.
pub(crate) fn begin() {
    LazyLock::force(&STARTED);
}

pub(super) fn started() -> f64 {
    *STARTED
}

pub(super) fn processor_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// A number of `/proc/self/status`, in this unit.
pub(super) fn of_status(key: &str, unit: f64) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    number(&status, key).map(|number| number * unit)
}

/// The number of open files, except the file that this function opens.
pub(super) fn files_open() -> Option<f64> {
    std::fs::read_dir("/proc/self/fd").ok().map(|open| open.count() as f64 - 1.0)
}

/// `None` without a bound.
pub(super) fn files_max() -> Option<f64> {
    getrlimit(Resource::Nofile).current.map(|files| files as f64)
}

/// The number in a line of `/proc/self/status`, such as `VmRSS:\t  1234 kB`.
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
