//! The compiler process's report on a plugin file, beside the code.
//!
//! The host treats the report as outside input: bounded, of a known version, with only names and numbers. The linker
//! checks the plugin's imports and exports once more.

use super::CompileError;
use serde::{Deserialize, Serialize};

/// Changes with the content of a report, and with the checks before the compilation.
pub(super) const REPORT_VERSION: u32 = 3;
/// The largest report in bytes: above all names at their bounds.
pub(super) const REPORT_BYTES_MAX: usize = 256 << 10;
/// The most interfaces that a plugin imports or exports. The contract has some twenty.
const INTERFACES_MAX: usize = 256;
/// Bytes of an interface's name.
const NAME_BYTES_MAX: usize = 256;

/// The report on a plugin file that keeps the contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileReport {
    version: u32,
    /// The imported interfaces of the contract, such as `log`.
    pub(crate) imports: Vec<String>,
    /// The exported interfaces; those of other packages with their full names.
    pub(crate) exports: Vec<String>,
    /// The host's memory for an instance, beside its linear memories and the elements of its tables.
    pub(crate) instance_bytes: u64,
    /// The host's memory for the code's types and names, as long as the code is kept.
    pub(crate) table_bytes: u64,
    /// Whether the baseline compiler made the code.
    pub(super) is_baseline: bool,
    /// The reason for which the compiler process had more rights than it needs; `None` if it had not.
    pub(crate) unconfined: Option<String>,
}

impl FileReport {
    /// A report of this version, or the bound that it exceeds.
    pub(super) fn new(
        imports: Vec<String>,
        exports: Vec<String>,
        (instance_bytes, table_bytes): (u64, u64),
        unconfined: Option<String>,
    ) -> Result<Self, String> {
        let version = REPORT_VERSION;
        let is_baseline = false;
        let report = Self {
            version,
            imports,
            exports,
            instance_bytes,
            table_bytes,
            is_baseline,
            unconfined,
        };
        report.check().map(|()| report)
    }

    /// Checks the size of an instance against its limit.
    pub(crate) fn check_instance(&self, most: u64) -> Result<(), CompileError> {
        let needed = self.instance_bytes;
        if needed > most {
            return Err(CompileError::InstanceBytes { needed, most });
        }
        Ok(())
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Names and numbers always become JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a report of another process.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > REPORT_BYTES_MAX {
            return Err(format!(
                "a report of {} bytes, at most {REPORT_BYTES_MAX} are taken",
                bytes.len()
            ));
        }
        let report: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        report.check().map(|()| report)
    }

    fn check(&self) -> Result<(), String> {
        if self.version != REPORT_VERSION {
            return Err(format!(
                "a report of version {}, this host reads {REPORT_VERSION}",
                self.version
            ));
        }
        for (verb, names) in [("imports", &self.imports), ("exports", &self.exports)] {
            if names.len() > INTERFACES_MAX {
                let found = names.len();
                return Err(format!(
                    "it {verb} {found} interfaces, at most {INTERFACES_MAX} are taken"
                ));
            }
            if let Some(long) = names.iter().find(|name| name.len() > NAME_BYTES_MAX) {
                let bytes = long.len();
                return Err(format!(
                    "it {verb} an interface whose name has {bytes} bytes, at most {NAME_BYTES_MAX} are taken"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize, bytes: usize) -> Vec<String> {
        vec!["x".repeat(bytes); count]
    }

    #[track_caller]
    fn check(imports: Vec<String>, exports: Vec<String>, expect: &str) {
        match FileReport::new(imports, exports, (7, 8), None) {
            Ok(report) => {
                assert_eq!(expect, "");
                let bytes = report.to_bytes();
                assert!(bytes.len() < REPORT_BYTES_MAX);
                assert_eq!(FileReport::read(&bytes), Ok(report));
            }
            Err(error) => assert_eq!(error, expect),
        }
    }

    #[test]
    fn names_are_bounded_on_both_ends() {
        check(vec![], vec![], "");
        check(names(INTERFACES_MAX, NAME_BYTES_MAX), names(INTERFACES_MAX, NAME_BYTES_MAX), "");
        check(names(257, 1), vec![], "it imports 257 interfaces, at most 256 are taken");
        let expect = "it exports an interface whose name has 257 bytes, at most 256 are taken";
        check(vec![], names(1, 257), expect);
    }

    #[track_caller]
    fn check_refused(bytes: &[u8], expect: &str) {
        let error = FileReport::read(bytes).expect_err("it is no report");
        assert!(error.contains(expect), "{error}");
    }

    #[test]
    fn what_is_no_report_of_this_version_is_not_read() {
        let report = FileReport::new(vec![], vec![], (0, 0), None).expect("it keeps its bounds");
        let text = String::from_utf8(report.to_bytes()).expect("JSON");
        check_refused(text.replace(r#""version":3"#, r#""version":1"#).as_bytes(), "of version 1");
        check_refused(text.replace("{", r#"{"more":1,"#).as_bytes(), "unknown field `more`");
        check_refused(&text.as_bytes()[..text.len() - 1], "EOF");
        check_refused(&vec![b' '; REPORT_BYTES_MAX + 1], "at most 262144 are taken");
        let many = serde_json::to_string(&names(300, 1)).expect("JSON");
        check_refused(
            text.replace(r#""exports":[]"#, &format!(r#""exports":{many}"#)).as_bytes(),
            "300",
        );
    }
}
