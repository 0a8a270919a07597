//! Whether the collector answers. The log has one line for each change, not one for each request.

use tracing::{info, warn};

/// The state of one signal's export.
pub(super) struct ExportHealth {
    /// `traces` or `metrics`.
    signal: &'static str,
    is_failing: bool,
    /// Whether the log has that the collector refused a part.
    has_refused: bool,
}

/// A change for the log.
#[derive(Debug, PartialEq, Eq)]
enum HealthChange {
    Failed(String),
    Recovered,
}

impl ExportHealth {
    pub(super) fn new(signal: &'static str) -> Self {
        Self { signal, is_failing: false, has_refused: false }
    }

    /// Notes the end of a request. The log has the change, if there is one.
    pub(super) fn note(&mut self, result: Result<(), &str>) {
        match self.step(result) {
            Some(HealthChange::Failed(line)) => warn!("{line}"),
            Some(HealthChange::Recovered) => info!("{} are exported again", self.signal),
            None => {}
        }
    }

    /// Notes that the collector took a request and refused a part of it. The log has the first one.
    pub(super) fn note_refused(&mut self, said: &str) {
        if !std::mem::replace(&mut self.has_refused, true) {
            let signal = self.signal;
            warn!("{signal}: {said}; further answers of this kind are only counted");
        }
    }

    fn step(&mut self, result: Result<(), &str>) -> Option<HealthChange> {
        let was_failing = std::mem::replace(&mut self.is_failing, result.is_err());
        match result {
            Err(error) if !was_failing => {
                let signal = self.signal;
                let line = format!(
                    "{signal} cannot be exported: {error}; plugins go on, and further failures are only counted (informant_otlp_requests_total)"
                );
                Some(HealthChange::Failed(line))
            }
            Ok(()) if was_failing => Some(HealthChange::Recovered),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_has_one_line() {
        let mut health = ExportHealth::new("traces");
        let results = [Ok(()), Err("a"), Err("b"), Ok(()), Ok(()), Err("c")];
        let changes = results.map(|result| match health.step(result) {
            Some(HealthChange::Failed(line)) => line[..27].to_owned(),
            Some(HealthChange::Recovered) => "recovered".to_owned(),
            None => String::new(),
        });
        let failed = "traces cannot be exported: ";
        assert_eq!(changes, ["", failed, "", "recovered", "", failed]);
    }
}
