//! The checks of a probe, shown in the manner of a Kubernetes API server: a check a line, `[+]` where it passes and `[-]` where it fails.

use informant_runtime::one_line;

/// What a check may say. An API server's words are among it, which are no check of their own and say nothing to a terminal.
const SAID_BYTES_MAX: usize = 2 << 10;

/// One line of `/readyz?verbose` or `/livez?verbose`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) passes: bool,
    /// `ok`, or what is to be said.
    pub(super) said: String,
}

impl Check {
    pub(super) fn new(name: impl Into<String>, result: Result<(), String>) -> Self {
        let (passes, said) = match result {
            Ok(()) => (true, "ok".to_owned()),
            Err(problem) => (false, problem),
        };
        Self { name: name.into(), passes, said }
    }

    pub(super) fn passes(&self) -> bool {
        self.passes
    }

    pub(super) fn shown(&self) -> String {
        let sign = if self.passes { '+' } else { '-' };
        format!("[{sign}]{} {}", self.name, one_line(&self.said, SAID_BYTES_MAX))
    }
}

/// The page of these checks of a probe.
pub(super) fn page(probe: &str, checks: &[Check]) -> String {
    let end = if checks.iter().all(Check::passes) { "passed" } else { "failed" };
    let lines = checks.iter().map(|check| check.shown() + "\n");
    format!("{}{probe} check {end}\n", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_of_each_check_whether_it_passes() {
        let checks = [
            Check::new("plugins", Ok(())),
            Check::new("informer v1/pods", Err("stale: connection refused".to_owned())),
        ];
        let expect =
            "[+]plugins ok\n[-]informer v1/pods stale: connection refused\nreadyz check failed\n";
        assert_eq!(page("readyz", &checks), expect);
        assert_eq!(page("readyz", &checks[..1]), "[+]plugins ok\nreadyz check passed\n");
    }

    #[test]
    fn a_check_is_one_line_whatever_it_says() {
        let said = "forbidden: \u{1b}[2J\u{202e}no\n[+]plugins ok".to_owned();
        let expect = "[-]informer v1/pods forbidden: \\u{1b}[2J\\u{202e}no\\n[+]plugins ok";
        assert_eq!(Check::new("informer v1/pods", Err(said)).shown(), expect);
        let long = Check::new("informer v1/pods", Err("x".repeat(1 << 20))).shown();
        assert!(long.len() < SAID_BYTES_MAX + 100, "{} bytes", long.len());
    }
}
