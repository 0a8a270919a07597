//! The number of files that the process may have open. Each connection is one of them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to the system's maximum. Most systems begin with 1,024, for programs that use `select`; the Go
/// runtime raises the limit, too.
pub(crate) fn allow_all() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If this fails, the process runs with fewer files.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_have_as_many_files_as_the_system_lets_it() {
        let before = getrlimit(Resource::Nofile);
        // Other tests of this process run at the same time.
        let fewer = before.maximum.map_or(1 << 16, |files| files - 1);
        let fewer = Rlimit { current: Some(fewer), ..before };
        setrlimit(Resource::Nofile, fewer).expect("less is always allowed");
        allow_all();
        assert_eq!(getrlimit(Resource::Nofile).current, before.maximum);
    }
}
