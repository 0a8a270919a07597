//! The messages of OTLP 1 that the host sends, except those of traces: `opentelemetry/proto`, without the fields that it
//! leaves empty. The behaviour suite reads them with OpenTelemetry's own declarations.

use prost::Message;

/// The values in a total since the start of the host.
pub(super) const CUMULATIVE: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AnyValue {
    #[prost(oneof = "AttributeValue", tags = "1, 3")]
    pub(super) value: Option<AttributeValue>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum AttributeValue {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Number(i64),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Scope {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MetricsRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) metrics: Vec<MetricMessage>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MetricMessage {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) description: String,
    #[prost(oneof = "MetricData", tags = "5, 7, 9")]
    pub(super) data: Option<MetricData>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum MetricData {
    #[prost(message, tag = "5")]
    Gauge(GaugeMessage),
    #[prost(message, tag = "7")]
    Sum(SumMessage),
    #[prost(message, tag = "9")]
    Histogram(HistogramMessage),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct GaugeMessage {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<NumberPoint>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SumMessage {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<NumberPoint>,
    #[prost(int32, tag = "2")]
    pub(super) aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    pub(super) is_monotonic: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct HistogramMessage {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<HistogramPoint>,
    #[prost(int32, tag = "2")]
    pub(super) aggregation_temporality: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NumberPoint {
    #[prost(message, repeated, tag = "7")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    pub(super) time_unix_nano: u64,
    /// In a choice of types: 0 is written too.
    #[prost(double, optional, tag = "4")]
    pub(super) as_double: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct HistogramPoint {
    #[prost(message, repeated, tag = "9")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    pub(super) time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    pub(super) count: u64,
    #[prost(double, optional, tag = "5")]
    pub(super) sum: Option<f64>,
    /// Not cumulative. One more than the bounds.
    #[prost(fixed64, repeated, tag = "6")]
    pub(super) bucket_counts: Vec<u64>,
    #[prost(double, repeated, tag = "7")]
    pub(super) explicit_bounds: Vec<f64>,
}

/// The answer to both requests.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub(super) rejected: i64,
    #[prost(string, tag = "2")]
    pub(super) error_message: String,
}

impl KeyValue {
    pub(super) fn text(key: &str, text: &str) -> Self {
        Self::new(key, AttributeValue::Text(text.to_owned()))
    }

    pub(super) fn new(key: &str, value: AttributeValue) -> Self {
        Self { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
    }
}

impl MetricMessage {
    /// The same family without its numbers.
    pub(super) fn without_points(&self) -> Self {
        let data = self.data.as_ref().map(|data| match data {
            MetricData::Gauge(_) => MetricData::Gauge(GaugeMessage::default()),
            MetricData::Sum(it) => MetricData::Sum(SumMessage {
                data_points: Vec::new(),
                aggregation_temporality: it.aggregation_temporality,
                is_monotonic: it.is_monotonic,
            }),
            MetricData::Histogram(it) => MetricData::Histogram(HistogramMessage {
                data_points: Vec::new(),
                aggregation_temporality: it.aggregation_temporality,
            }),
        });
        Self { data, name: self.name.clone(), description: self.description.clone() }
    }

    pub(super) fn has_points(&self) -> bool {
        match &self.data {
            Some(MetricData::Gauge(it)) => !it.data_points.is_empty(),
            Some(MetricData::Sum(it)) => !it.data_points.is_empty(),
            Some(MetricData::Histogram(it)) => !it.data_points.is_empty(),
            None => false,
        }
    }
}

impl Scope {
    pub(super) fn of_host() -> Self {
        Self { name: "informant".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

impl Resource {
    /// The host, with the settings' attributes. They win over its own. The instance's id tells hosts of one name apart.
    pub(super) fn new(settings: Vec<(String, String)>, instance: &str) -> Self {
        let own = [
            ("service.name", "informant".to_owned()),
            ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("service.instance.id", instance.to_owned()),
        ];
        let own = own.into_iter().filter(|(key, _)| settings.iter().all(|(set, _)| set != key));
        let own = own.map(|(key, text)| KeyValue::text(key, &text));
        let set = settings.iter().map(|(key, text)| KeyValue::text(key, text));
        Self { attributes: own.chain(set).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_settings_win() {
        let set = [("service.name", "shop"), ("team", "a")];
        let set = set.map(|(key, text)| (key.to_owned(), text.to_owned())).to_vec();
        let resource = Resource::new(set, "1");
        let id = KeyValue::text("service.instance.id", "1");
        let version = KeyValue::text("service.version", env!("CARGO_PKG_VERSION"));
        let [name, team] = [KeyValue::text("service.name", "shop"), KeyValue::text("team", "a")];
        assert_eq!(resource.attributes, [version, id, name, team]);
    }
}
