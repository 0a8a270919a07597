//! The settings of the export: the option, and OpenTelemetry's environment variables. Synchronous; the environment is
//! an argument.

use super::endpoint::Endpoint;
use anyhow::{Result, anyhow, bail};
use http::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use std::path::PathBuf;
use std::time::Duration;

const OPTION: &str = "--otlp-endpoint";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The bounds of numbers. The queue of spans has a bound in bytes too.
const SPANS_MAX: u64 = 1 << 16;
/// More than OpenTelemetry's defaults, 2048 and 512, because two spans come with each change: a request every second or two on
/// a busy host, and room for a collector that is away for some seconds.
const QUEUE_DEFAULT: u64 = 16_384;
const BATCH_DEFAULT: u64 = 4_096;
/// OpenTelemetry's default is every trace, which costs about a tenth of an update's processor time.
const RATIO: f64 = 0.1;
const MILLISECONDS_MAX: u64 = 24 * 3_600_000;

/// The settings of an export that is on.
#[derive(Debug, PartialEq)]
pub(crate) struct OtlpSettings {
    pub(super) traces: Option<SignalSettings>,
    pub(super) metrics: Option<SignalSettings>,
    /// The resource's attributes.
    pub(super) resource: Vec<(String, String)>,
    /// The part of all traces that is sampled.
    pub(super) ratio: f64,
    /// Whether requests have the header of their trace.
    pub(super) propagates: bool,
    pub(super) queue: QueueSettings,
    pub(super) metric_interval: Duration,
}

/// The settings of one signal.
#[derive(PartialEq)]
pub(super) struct SignalSettings {
    pub(super) endpoint: Endpoint,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) timeout: Duration,
    /// The variable, and its file.
    pub(super) certificate: Option<(String, PathBuf)>,
    pub(super) is_compressed: bool,
    /// Whether a problem ends the start.
    pub(super) is_required: bool,
}

/// Headers may be credentials.
impl std::fmt::Debug for SignalSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.endpoint)
    }
}

/// The settings of the queue of spans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct QueueSettings {
    pub(super) spans_max: usize,
    pub(super) batch_max: usize,
    /// The longest time that a span waits for others.
    pub(super) delay: Duration,
}

/// Settings of traces alone.
struct SpanSettings {
    signal: SignalSettings,
    ratio: f64,
    queue: QueueSettings,
}

impl OtlpSettings {
    /// The settings with this value of the option, which clap takes from the environment too. `None`: nothing is
    /// exported. The option is a request, so a value that cannot be used is an error. An endpoint in a variable may have
    /// been meant for other programs: then `warn` gets the problem, and the signal is off.
    pub(crate) fn read(
        option: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
        mut warn: impl FnMut(&str),
    ) -> Result<Option<Self>> {
        let environment = Environment(&variable);
        let option = option.filter(|url| !url.is_empty());
        if environment.get("OTEL_SDK_DISABLED").is_some_and(|it| it.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let is_required = environment.is_required(option);
        let mut off = |problem: &anyhow::Error| warn(&left_off(problem));
        let traces = usable(environment.traces(option), is_required, &mut off)?;
        let metrics = usable(environment.metrics(option), is_required, &mut off)?;
        if traces.is_none() && metrics.is_none() {
            return Ok(None);
        }
        let resource = usable(environment.resource().map(Some), is_required, |problem| {
            warn(&format!("{problem}; it is ignored"));
        })?;
        let (metrics, metric_interval) = metrics.unzip();
        let (queue, ratio) = traces.as_ref().map(|it| (it.queue, it.ratio)).unzip();
        Ok(Some(Self {
            traces: traces.map(|it| it.signal),
            metrics,
            resource: resource.unwrap_or_default(),
            ratio: ratio.unwrap_or_default(),
            propagates: environment.propagates(),
            queue: queue.unwrap_or_default(),
            metric_interval: metric_interval.unwrap_or_default(),
        }))
    }
}

/// The settings. A problem is an error, or goes to `ignored`.
fn usable<T>(
    found: Result<Option<T>>,
    is_required: bool,
    mut ignored: impl FnMut(&anyhow::Error),
) -> Result<Option<T>> {
    match found {
        Err(problem) if !is_required => {
            ignored(&problem);
            Ok(None)
        }
        found => found,
    }
}

/// The line of the log for a problem that does not end the start.
pub(super) fn left_off(problem: &anyhow::Error) -> String {
    format!("{problem:#}; this signal is not exported, and with {OPTION} the host would not start")
}

struct Environment<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Environment<'_> {
    /// An empty variable counts as none.
    fn get(&self, name: &str) -> Option<String> {
        self.0(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// A variable of the exporter: that of the signal, or else that of all signals; with its name.
    fn of_signal(&self, signal: &str, setting: &str) -> Option<(String, String)> {
        let names = [format!("OTEL_EXPORTER_OTLP_{signal}_{setting}"), exporter(setting)];
        names.into_iter().find_map(|name| Some((self.get(&name)?, name)))
    }

    /// Whether the value is that of the option and not that of its variable.
    fn is_required(&self, option: Option<&str>) -> bool {
        option.is_some_and(|url| self.get(ENDPOINT).is_none_or(|variable| variable != url))
    }

    fn traces(&self, option: Option<&str>) -> Result<Option<SpanSettings>> {
        let Some(signal) = self.signal("TRACES", option)? else { return Ok(None) };
        let ratio = self.ratio()?;
        // A sampler of nothing is no reason to compute ids.
        if ratio == 0.0 {
            return Ok(None);
        }
        let spans_max = self.number("OTEL_BSP_MAX_QUEUE_SIZE", QUEUE_DEFAULT, SPANS_MAX)?;
        let batch_max = self.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", BATCH_DEFAULT, SPANS_MAX)?;
        let queue = QueueSettings {
            spans_max: usize::try_from(spans_max)?,
            batch_max: usize::try_from(batch_max.min(spans_max))?,
            delay: self.milliseconds("OTEL_BSP_SCHEDULE_DELAY", 5_000)?,
        };
        Ok(Some(SpanSettings { signal, ratio, queue }))
    }

    fn metrics(&self, option: Option<&str>) -> Result<Option<(SignalSettings, Duration)>> {
        let Some(signal) = self.signal("METRICS", option)? else { return Ok(None) };
        let interval = self.milliseconds("OTEL_METRIC_EXPORT_INTERVAL", 60_000)?;
        Ok(Some((signal, interval)))
    }

    /// Whether requests have the header of their trace.
    fn propagates(&self) -> bool {
        let Some(propagators) = self.get("OTEL_PROPAGATORS") else { return true };
        propagators.split(',').any(|one| one.trim() == "tracecontext")
    }

    fn signal(&self, signal: &str, option: Option<&str>) -> Result<Option<SignalSettings>> {
        let own = format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT");
        let endpoint = match (self.get(&own), option) {
            (Some(url), _) => Endpoint::new(&own, &url, ""),
            (None, Some(url)) => {
                let name = if self.is_required(option) { OPTION } else { ENDPOINT };
                Endpoint::new(name, url, &format!("v1/{}", signal.to_ascii_lowercase()))
            }
            (None, None) => return Ok(None),
        };
        let exporter = format!("OTEL_{signal}_EXPORTER");
        match self.get(&exporter).as_deref() {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(_) => bail!("{exporter} has an unknown exporter: otlp and none are known"),
        }
        let endpoint = endpoint.map_err(|problem| anyhow!(problem))?;
        if let Some((protocol, name)) = self.of_signal(signal, "PROTOCOL")
            && protocol != "http/protobuf"
        {
            bail!(
                "{name} has {protocol:?}: only http/protobuf is known; collectors take it at port 4318"
            );
        }
        let timeout = match self.of_signal(signal, "TIMEOUT") {
            Some((_, name)) => self.milliseconds(&name, 10_000)?,
            None => Duration::from_secs(10),
        };
        let is_compressed = match self.of_signal(signal, "COMPRESSION") {
            None => false,
            Some((value, _)) if value == "none" => false,
            Some((value, _)) if value == "gzip" => true,
            Some((_, name)) => bail!("{name} has an unknown value: gzip and none are known"),
        };
        let headers = self.of_signal(signal, "HEADERS");
        let headers = headers.map(|(value, name)| headers_of(&name, &value)).transpose()?;
        let certificate = self.of_signal(signal, "CERTIFICATE");
        Ok(Some(SignalSettings {
            endpoint,
            headers: headers.unwrap_or_default(),
            timeout,
            certificate: certificate.map(|(path, name)| (name, path.into())),
            is_compressed,
            is_required: self.is_required(option),
        }))
    }

    fn number(&self, name: &str, default: u64, max: u64) -> Result<u64> {
        let Some(value) = self.get(name) else { return Ok(default) };
        let number = value.parse().ok().filter(|number| (1..=max).contains(number));
        number.ok_or_else(|| anyhow!("{name} has {value:?}; write a number from 1 to {max}"))
    }

    fn milliseconds(&self, name: &str, default: u64) -> Result<Duration> {
        self.number(name, default, MILLISECONDS_MAX).map(Duration::from_millis)
    }

    /// The host begins every trace, so a sampler that would follow a parent has none.
    fn ratio(&self) -> Result<f64> {
        const NAME: &str = "OTEL_TRACES_SAMPLER";
        let sampler = self.get(NAME);
        let sampler = sampler.as_deref().unwrap_or("traceidratio");
        match sampler.strip_prefix("parentbased_").unwrap_or(sampler) {
            "always_on" => Ok(1.0),
            "always_off" => Ok(0.0),
            "traceidratio" => self.sampler_argument(),
            _ => bail!("{NAME} has {sampler:?}: always_on, always_off and traceidratio are known"),
        }
    }

    fn sampler_argument(&self) -> Result<f64> {
        const NAME: &str = "OTEL_TRACES_SAMPLER_ARG";
        let Some(value) = self.get(NAME) else { return Ok(RATIO) };
        let ratio = value.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.ok_or_else(|| anyhow!("{NAME} has {value:?}; write a number from 0 to 1"))
    }

    /// The attributes of the resource; the name of the service has a variable of its own, which wins.
    fn resource(&self) -> Result<Vec<(String, String)>> {
        const NAME: &str = "OTEL_RESOURCE_ATTRIBUTES";
        let attributes = self.get(NAME).map(|value| pairs(NAME, &value)).transpose()?;
        let mut attributes = attributes.unwrap_or_default();
        if let Some(name) = self.get("OTEL_SERVICE_NAME") {
            attributes.retain(|(key, _)| key != "service.name");
            attributes.insert(0, ("service.name".to_owned(), name));
        }
        Ok(attributes)
    }
}

fn exporter(setting: &str) -> String {
    format!("OTEL_EXPORTER_OTLP_{setting}")
}

/// `key=value` with commas between them, values with percent signs decoded. No error has a value, which may be a
/// credential.
fn pairs(name: &str, text: &str) -> Result<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (key, value) = part.split_once('=').map(|(key, value)| (key.trim(), value.trim()))?;
        let value = percent_decode_str(value).decode_utf8().ok()?;
        (!key.is_empty()).then(|| (key.to_owned(), value.into_owned()))
    };
    let found = parts.map(pair).collect::<Option<Vec<_>>>();
    found.ok_or_else(|| anyhow!("{name} is no list of key=value with commas between them"))
}

fn headers_of(name: &str, text: &str) -> Result<Vec<(HeaderName, HeaderValue)>> {
    let header = |(key, value): (String, String)| {
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some((key.parse().ok()?, value))
    };
    let found = pairs(name, text)?.into_iter().map(header).collect::<Option<Vec<_>>>();
    found.ok_or_else(|| anyhow!("{name} has a text that cannot be a header"))
}

#[cfg(test)]
mod tests;
