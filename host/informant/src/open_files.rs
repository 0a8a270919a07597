//! How many files the process may have open, of which each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Allows as many as the system lets it. What most systems begin with, 1,024, is kept so low for programs that use `select`; the Go runtime raises it as well.
pub(crate) fn allow_all() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // It goes on with fewer.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_have_as_many_files_as_the_system_lets_it() {
        let before = getrlimit(Resource::Nofile);
        // Other tests of this process go on.
        let fewer = before.maximum.map_or(1 << 16, |files| files - 1);
        let fewer = Rlimit { current: Some(fewer), ..before };
        setrlimit(Resource::Nofile, fewer).expect("less is always allowed");
        allow_all();
        assert_eq!(getrlimit(Resource::Nofile).current, before.maximum);
    }
}
