//! The rights of the process that reads a plugin file: bounded memory and processor time, and
//! nothing but computing. It opens no files, starts no programs and has no network. So code that
//! takes the process over through a file gains nothing.

use rustix::process::{Resource, Rlimit, setrlimit};
use std::io;

/// A lower priority than all code that handles events: compiling can wait, events cannot.
const NICENESS: i32 = 10;

/// The bounds of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessBounds {
    pub(super) memory_bytes: u64,
    /// Of all threads together.
    pub(super) cpu_seconds: u64,
}

impl ProcessBounds {
    /// Has the kernel enforce the bounds on this process.
    pub(super) fn keep(self) -> io::Result<()> {
        let limit = |most| Rlimit { current: Some(most), maximum: Some(most) };
        // Counts memory that is writable and private. A bound of the address space would also count program text and
        // reserved space.
        setrlimit(Resource::Data, limit(self.memory_bytes))?;
        setrlimit(Resource::Cpu, limit(self.cpu_seconds))?;
        for none in [Resource::Core, Resource::Fsize] {
            setrlimit(none, limit(0))?;
        }
        // Both are a courtesy; a failure does no harm.
        let _ = rustix::process::nice(NICENESS);
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        Ok(())
    }
}

/// Takes away every right that computing does not need, for all threads and for good. Open files stay open. An error
/// says why this system cannot do that.
pub(super) fn confine() -> Result<(), String> {
    // On a system without a filter of system calls, this alone prevents files and sockets.
    let no_files = Rlimit { current: Some(0), maximum: Some(0) };
    let bounded = setrlimit(Resource::Nofile, no_files).map_err(|error| error.to_string());
    bounded.and_then(|()| filter::apply())
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
mod filter {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch,
    };
    use std::collections::BTreeMap;

    /// The system calls of the standard library, the allocator and computing threads.
    const ALLOWED: &[i64] = &[
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_fstat,
        libc::SYS_lseek,
        libc::SYS_fcntl,
        libc::SYS_ppoll,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_futex,
        libc::SYS_membarrier,
        libc::SYS_set_robust_list,
        libc::SYS_get_robust_list,
        libc::SYS_rseq,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_restart_syscall,
        libc::SYS_sigaltstack,
        libc::SYS_tgkill,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_getrusage,
        libc::SYS_prlimit64,
        libc::SYS_prctl,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_getrandom,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    fn failed(error: impl std::fmt::Display) -> String {
        error.to_string()
    }

    /// Both filter programs. A call that is not allowed is refused. The newer call that makes threads is reported as
    /// missing, because its flags are in memory, where no filter can read them. Callers then use the older call, whose
    /// flags a filter can read.
    pub(super) fn programs() -> Result<[BpfProgram; 2], String> {
        let arch: TargetArch = std::env::consts::ARCH.try_into().map_err(failed)?;
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
        let thread = libc::CLONE_THREAD as u64;
        let makes_thread = SeccompCondition::new(
            0,
            SeccompCmpArgLen::Qword,
            SeccompCmpOp::MaskedEq(thread),
            thread,
        );
        let makes_thread = SeccompRule::new(vec![makes_thread.map_err(failed)?]).map_err(failed)?;
        rules.insert(libc::SYS_clone, vec![makes_thread]);
        rules.insert(libc::SYS_clone3, Vec::new());
        let refuse = SeccompAction::Errno(libc::EPERM as u32);
        let allowed = SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch);
        let is_missing = SeccompAction::Errno(libc::ENOSYS as u32);
        let newer = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        let missing = SeccompFilter::new(newer, SeccompAction::Allow, is_missing, arch);
        Ok([
            missing.and_then(TryInto::try_into).map_err(failed)?,
            allowed.and_then(TryInto::try_into).map_err(failed)?,
        ])
    }

    pub(super) fn apply() -> Result<(), String> {
        for program in programs()? {
            seccompiler::apply_filter_all_threads(&program).map_err(failed)?;
        }
        Ok(())
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
mod filter {
    pub(super) fn apply() -> Result<(), String> {
        Err("filters of system calls are for Linux on x86_64, aarch64 and riscv64".to_owned())
    }
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::io::ErrorKind::PermissionDenied;

    /// Runs `then` in a separate thread, which alone is confined.
    fn confined<T: Send + 'static>(then: impl FnOnce() -> T + Send + 'static) -> T {
        let run = move || {
            for program in filter::programs().expect("the filter can be made") {
                seccompiler::apply_filter(&program).expect("the kernel takes it");
            }
            then()
        };
        std::thread::spawn(run).join().expect("it does not panic")
    }

    #[track_caller]
    fn check_refused<T: Send + 'static>(
        name: &str,
        tries: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) {
        let error = confined(move || tries().err().map(|error| error.kind()));
        assert_eq!(error, Some(PermissionDenied), "{name}");
    }

    #[test]
    fn it_has_no_files_no_network_and_no_programs() {
        check_refused("a file is read", || std::fs::File::open("/etc/hostname"));
        let path = tempfile::tempdir().expect("a directory").path().join("file");
        check_refused("a file is written", move || std::fs::File::create(path));
        check_refused("a socket", || std::net::TcpListener::bind(("127.0.0.1", 0)));
        check_refused("a program", || std::process::Command::new("/bin/true").spawn());
        check_refused("a link", || std::os::unix::fs::symlink("a", "/tmp/a-link-of-nobody"));
        check_refused("a signal", || {
            let parent = rustix::process::getppid().ok_or(io::ErrorKind::NotFound)?;
            Ok(rustix::process::test_kill_process(parent)?)
        });
    }

    #[test]
    fn it_computes_in_threads() {
        let sum = confined(|| {
            let parts = (0..4).map(|part| std::thread::spawn(move || vec![part; 1 << 20].len()));
            let parts: Vec<_> = parts.collect();
            parts.into_iter().map(|part| part.join().expect("a thread")).sum::<usize>()
        });
        assert_eq!(sum, 4 << 20);
    }
}
