//! What is measured on.

/// Processors, their name, and the kernel.
pub fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let information = read("/proc/cpuinfo");
    let name = information.lines().find_map(|line| line.strip_prefix("model name"));
    let name =
        name.map_or("an unknown processor", |name| name.trim_start_matches([' ', '\t', ':']));
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{processors} cores of {name}, Linux {}", kernel.trim())
}
