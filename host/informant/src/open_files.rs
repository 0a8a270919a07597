//! The number of files that the process may have open. Each connection is one of them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most that macOS takes, though its maximum is unlimited (`OPEN_MAX`).
const OPEN_MAX: u64 = 10_240;

/// Allows as many as the system takes. Most systems begin with few, 256 or 1,024, for programs that use `select`; the
/// Go runtime raises the limit as well.
pub(crate) fn allow_all() {
    let before = getrlimit(Resource::Nofile);
    let mut limits = raised(&before).into_iter();
    // Without any of these the process goes on with fewer.
    limits.find(|limit| setrlimit(Resource::Nofile, *limit).is_ok());
}

/// The limits to try, one after the other.
fn raised(before: &Rlimit) -> Vec<Rlimit> {
    let maximum = before.maximum;
    let mut limits = vec![Rlimit { current: maximum, maximum }];
    let is_more = before.current.is_some_and(|files| files < OPEN_MAX);
    if is_more && maximum.is_none_or(|files| files > OPEN_MAX) {
        limits.push(Rlimit { current: Some(OPEN_MAX), maximum });
    }
    limits
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

    #[test]
    fn a_system_that_refuses_its_own_maximum_is_asked_for_less() {
        let check = |current, maximum, expect: &[Option<u64>]| {
            let limits = raised(&Rlimit { current, maximum });
            assert!(limits.iter().all(|limit| limit.maximum == maximum));
            let tried: Vec<_> = limits.iter().map(|limit| limit.current).collect();
            assert_eq!(tried, expect, "{current:?} {maximum:?}");
        };
        check(Some(256), None, &[None, Some(OPEN_MAX)]);
        check(Some(1024), Some(1 << 20), &[Some(1 << 20), Some(OPEN_MAX)]);
        check(Some(1024), Some(4096), &[Some(4096)]);
        check(Some(1 << 16), None, &[None]);
        check(None, None, &[None]);
    }
}
