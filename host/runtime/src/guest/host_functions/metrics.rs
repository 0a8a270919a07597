//! `metrics`: the plugin's own series on the host's page.

use super::{HostCall, Labels};
use crate::guest::bindings::informant::plugin::metrics::Host;
use crate::guest::guest_state::GuestState;
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::plugin_metrics::MetricKind;

impl Host for HostCall<'_> {
    fn counter_add(
        &mut self,
        name: String,
        labels: Labels,
        value: f64,
    ) -> wasmtime::Result<Result<(), String>> {
        Ok(self.record(MetricKind::Counter, &name, labels, value))
    }

    fn gauge_set(
        &mut self,
        name: String,
        labels: Labels,
        value: f64,
    ) -> wasmtime::Result<Result<(), String>> {
        Ok(self.record(MetricKind::Gauge, &name, labels, value))
    }

    fn histogram_observe(
        &mut self,
        name: String,
        labels: Labels,
        value: f64,
    ) -> wasmtime::Result<Result<(), String>> {
        Ok(self.record(MetricKind::Histogram, &name, labels, value))
    }
}

impl GuestState {
    fn record(
        &self,
        kind: MetricKind,
        name: &str,
        labels: Labels,
        value: f64,
    ) -> Result<(), String> {
        let metrics = self.metrics.as_ref().ok_or("there are no metrics in `describe`")?;
        let recorded = metrics.lock().record(kind, name, labels, value, self.surroundings.now());
        recorded.map_err(|problem| one_line(&problem, ERROR_BYTES_MAX).into_owned())
    }
}
