//! What the kernel says of a process: processor time, resident memory and threads.

use std::time::Duration;

use anyhow::Context;

/// Linux counts processor time for `/proc` in hundredths of a second, everywhere.
const TICK: Duration = Duration::from_millis(10);

/// Processor time of a process and of its children that have ended.
pub fn cpu(process: u32) -> anyhow::Result<Duration> {
    let stat = read(process, "stat")?;
    cpu_of(&stat).with_context(|| format!("/proc/{process}/stat: {stat}"))
}

fn cpu_of(stat: &str) -> Option<Duration> {
    // The name, in parentheses, may hold spaces. After it: the state is field 3, utime 14, stime 15, cutime 16, cstime 17.
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(4);
    let ticks = times.map(str::parse::<u32>).collect::<Result<Vec<_>, _>>().ok()?;
    (ticks.len() == 4).then(|| TICK * ticks.iter().sum())
}

/// Resident memory in bytes.
pub fn resident(process: u32) -> anyhow::Result<u64> {
    kilobytes(&read(process, "smaps_rollup")?, "Rss:")
}

/// Resident memory in bytes. A page that several mappings share, in one process or in several, is divided among them; for
/// [`resident`] it counts once for each mapping.
pub fn proportional(process: u32) -> anyhow::Result<u64> {
    kilobytes(&read(process, "smaps_rollup")?, "Pss:")
}

/// The most that was resident since the process began, or since [`forget_peak`], in bytes.
pub fn peak(process: u32) -> anyhow::Result<u64> {
    kilobytes(&read(process, "status")?, "VmHWM:")
}

/// How many threads it has.
pub fn threads(process: u32) -> anyhow::Result<u64> {
    let status = read(process, "status")?;
    let number = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    Ok(number.with_context(|| format!("no Threads: in {status}"))?.trim().parse()?)
}

/// Its children that have not been waited for.
pub fn children(process: u32) -> anyhow::Result<Vec<u32>> {
    let mut children = Vec::new();
    let path = format!("/proc/{process}/task");
    for thread in std::fs::read_dir(&path).with_context(|| format!("list {path}"))? {
        // A thread that has ended meanwhile has none.
        let list = std::fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
        children.extend(list.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
    }
    Ok(children)
}

/// How many files it has open, connections among them.
pub fn open_files(process: u32) -> anyhow::Result<u64> {
    let path = format!("/proc/{process}/fd");
    let entries = std::fs::read_dir(&path).with_context(|| format!("list {path}"))?;
    Ok(entries.count() as u64)
}

/// Lets [`peak`] count from now.
pub fn forget_peak(process: u32) -> anyhow::Result<()> {
    let path = format!("/proc/{process}/clear_refs");
    std::fs::write(&path, "5").with_context(|| format!("write {path}"))
}

fn read(process: u32, file: &str) -> anyhow::Result<String> {
    let path = format!("/proc/{process}/{file}");
    std::fs::read_to_string(&path).with_context(|| format!("read {path}"))
}

fn kilobytes(text: &str, key: &str) -> anyhow::Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    let kilobytes: u64 = number.with_context(|| format!("no {key} in {text}"))?.trim().parse()?;
    Ok(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_own_and_that_of_ended_children() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 150 20 5 1 20 0 9 0 100";
        assert_eq!(cpu_of(stat), Some(Duration::from_millis(1_760)));
        assert_eq!(cpu_of("7 (a) S 1"), None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let text = "Rss:                1024 kB\nPss:                   8 kB\n";
        assert_eq!(kilobytes(text, "Rss:").expect("it is there"), 1 << 20);
        assert!(kilobytes(text, "VmHWM:").is_err());
    }

    #[test]
    fn a_child_is_one_until_it_has_been_waited_for() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("it starts");
        let is_child = || children(std::process::id()).expect("children").contains(&child.id());
        assert!(is_child());
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        assert!(!children(std::process::id()).expect("children").contains(&child.id()));
    }

    #[test]
    fn this_process_has_both() {
        let own = std::process::id();
        assert!(resident(own).expect("memory") > 0);
        assert!(proportional(own).expect("memory") > 0);
        assert!(peak(own).expect("a peak") > 0);
        assert!(threads(own).expect("threads") > 0);
        assert!(open_files(own).expect("open files") > 2);
        cpu(own).expect("processor time");
    }
}
