//! Traces and metrics of a host, as a collector of OpenTelemetry gets them.

mod collector;
mod keys;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::host::bench::{
    CONFIGURATION_HEAD as HEAD, HostBench, LINES_DEADLINE, await_told, host_fact, pod_names,
};
use crate::host::writes::grants;
use collector::{Collector, attribute, hex};
use informant_e2e::cluster::User;
use informant_e2e::host::{Host, Line};
use informant_e2e::http::Answer;
use informant_e2e::poll;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{Metric, NumberDataPoint};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::json;

/// A pod of this name makes every test guest act.
const POD: &str = "sin-trace";
/// A `traceparent` of a plugin's own.
const OWN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// How long a host may take to end.
const END_MAX: Duration = Duration::from_secs(20);
/// The same beside a collector that does not answer: three seconds for the last spans and metrics, and those of a host
/// that exports nothing.
const SILENT_END_MAX: Duration = Duration::from_secs(7);
/// The time limit of a request to a collector that does not answer. An event that waited for it would be so late.
const SILENCE: Duration = Duration::from_secs(3);
/// The events that a collector must not delay.
const PODS: usize = 100;

/// A host that exports to the collector, with these variables too.
async fn start(
    bench: &HostBench<'_>,
    collector: &Collector,
    more: &[&str],
    variables: &[(&str, &str)],
) -> Host {
    let url = collector.url();
    let kubeconfig = bench.cluster.kubeconfig(User::Admin);
    let base = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "20"),
        ("OTEL_TRACES_SAMPLER_ARG", "1"),
    ];
    let variables = [&base[..], variables].concat();
    let started = Host::start_in(&bench.program, &kubeconfig, &bench.plugins, more, &variables);
    let host = started.await.unwrap();
    host.await_ready().await.unwrap();
    host
}

/// Waits until both guests have acted on a new pod.
async fn act(bench: &HostBench<'_>, host: &Host) {
    bench.create_pods(&[POD.to_owned()]).await;
    for begin in ["asked about ", "wrote about "] {
        let acted = |line: &Line| line.message().starts_with(begin) && line.text.contains(POD);
        host.await_line("a guest to have acted", LINES_DEADLINE, acted).await.unwrap();
    }
}

/// The host's own file, which lets both guests act. `server` answers requests.
fn configuration(bench: &HostBench<'_>, server: &Collector) -> (tempfile::TempDir, String) {
    let url = server.url();
    let asks = json!([
        {"what": "ours", "url": format!("{url}/ours")},
        {"what": "own", "url": format!("{url}/own"), "header": ["traceparent", OWN]},
    ]);
    let rule = format!("{{origins: ['{url}'], methods: [GET], addresses: [loopback]}}");
    let asking = format!("asks-outside: {{config: {{asks: {asks}}}, http: [{rule}]}}");
    let text =
        format!("{HEAD}HostConfiguration\nplugins: {{{asking}, writer: {{{}}}}}\n", grants(bench));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("informant.yaml");
    std::fs::write(&file, text).expect("a file");
    for guest in ["asks-outside", "writer"] {
        bench.drop_plugin(guest, guest);
    }
    (directory, file.display().to_string())
}

/// The spans of one trace.
struct Trace(Vec<Span>);

impl Trace {
    #[track_caller]
    fn one(&self, name: &str) -> &Span {
        let found: Vec<&Span> = self.0.iter().filter(|span| span.name == name).collect();
        assert_eq!(found.len(), 1, "{name}: {:?}", self.names());
        found[0]
    }

    fn children(&self, of: &Span) -> Vec<&Span> {
        self.0.iter().filter(|span| span.parent_span_id == of.span_id).collect()
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|span| span.name.as_str()).collect()
    }
}

#[track_caller]
fn check_within(inner: &Span, outer: &Span) {
    let times = |span: &Span| [span.start_time_unix_nano, span.end_time_unix_nano];
    let ([start, end], [outer_start, outer_end]) = (times(inner), times(outer));
    assert!(outer_start <= start && start <= end && end <= outer_end, "{inner:?} {outer:?}");
}

/// The line of the guest about this, and the ids in it.
fn ids(host: &Host, plugin: &str, begin: &str) -> (String, String) {
    let lines = host.lines_of(plugin);
    let line = lines.iter().find(|line| line.message().starts_with(begin)).expect("a line");
    let id = |key| line.field(key).unwrap_or_else(|| panic!("no {key}: {}", line.text)).to_owned();
    (id("trace_id"), id("span_id"))
}

#[test]
fn one_change_is_one_trace_of_two_plugins_calls_with_their_writes_and_requests() {
    host_fact(async |bench| {
        let (collector, server) = (Collector::start(true), Collector::start(true));
        let (_directory, file) = configuration(&bench, &server);
        let variables = [
            ("OTEL_SERVICE_NAME", "shop-host"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3cr3t"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ];
        let mut host = start(&bench, &collector, &["--config", &file], &variables).await;
        act(&bench, &host).await;
        let status = host.terminate(END_MAX).unwrap();
        assert!(status.success(), "{status}: {}", host.tail());

        let (trace_id, asking_id) = ids(&host, "asks-outside", "asked about ");
        let (same_trace, writing_id) = ids(&host, "writer", "wrote about ");
        assert_eq!(trace_id, same_trace);
        let all = collector.spans();
        let (resource, _) = all.first().expect("spans");
        let name = attribute(&resource.attributes, "service.name");
        assert_eq!(name.as_deref(), Some("shop-host"));
        let mut spans: Vec<Span> = all.into_iter().map(|(_, span)| span).collect();
        spans.retain(|span| hex(&span.trace_id) == trace_id);
        let trace = Trace(spans);

        let root = trace.one("watch v1/pods");
        assert!(root.parent_span_id.is_empty());
        let [asking, writing] = ["handle asks-outside", "handle writer"].map(|it| trace.one(it));
        for (call, id) in [(asking, &asking_id), (writing, &writing_id)] {
            assert_eq!((&hex(&call.span_id), &call.parent_span_id), (id, &root.span_id));
            assert!(root.start_time_unix_nano <= call.start_time_unix_nano);
            let text = |key| attribute(&call.attributes, key).unwrap_or_default();
            assert_eq!(text("k8s.pod.name"), POD);
            assert_eq!(text("k8s.namespace.name"), bench.namespace);
            assert_eq!(text("informant.event.change"), "added");
            assert!(call.status.is_none());
        }

        // The guest's writes, in their order.
        let writes = trace.children(writing);
        let named: Vec<&str> = writes.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(
            named[..5],
            [["patch v1/pods"; 4].as_slice(), &["create v1/configmaps"]].concat()
        );
        writes.iter().for_each(|write| check_within(write, writing));
        let again = writes[5];
        let status = attribute(&again.attributes, "http.response.status_code");
        assert_eq!((again.name.as_str(), status.as_deref()), ("create v1/configmaps", Some("409")));
        assert!(again.status.as_ref().is_some_and(|status| status.code == 2), "{again:?}");
        // A write that is not granted names no span.
        let of_secrets = |span: &&Span| {
            let resource = attribute(&span.attributes, "informant.resource");
            span.name == "delete other" && resource.as_deref() == Some("v1/secrets")
        };
        let secret = trace.0.iter().find(of_secrets).expect("a span of the refused write");
        let keys: Vec<&str> = secret.attributes.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(keys, ["informant.resource", "error.type"]);

        // Its own header is kept, and the host's names the request's span.
        let requests = trace.children(asking);
        assert_eq!(requests.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["GET"; 2]);
        requests.iter().for_each(|request| check_within(request, asking));
        let seen = |path| server.asked(path)[0].header("traceparent").map(str::to_owned);
        let ours = format!("00-{trace_id}-{}-01", hex(&requests[0].span_id));
        assert_eq!(seen("/ours"), Some(ours));
        assert_eq!(seen("/own").as_deref(), Some(OWN));

        let asked = collector.asked("/v1/traces");
        assert!(asked.iter().all(|asked| asked.header("x-key") == Some("s3cr3t")));
        let told = host.lines().into_iter().find(|line| line.text.contains("s3cr3t"));
        assert!(told.is_none(), "{told:?}");
    });
}

/// The series of a metric as lines of `/metrics`, without the buckets of histograms.
fn lines(metric: &Metric) -> Vec<(String, f64)> {
    let name = &metric.name;
    let labels = |attributes: &[_]| {
        let label = |it: &opentelemetry_proto::tonic::common::v1::KeyValue| {
            let value = attribute(attributes, &it.key).expect("a text");
            format!("{}=\"{value}\"", it.key)
        };
        let labels: Vec<String> = attributes.iter().map(label).collect();
        if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
    };
    let number = |point: &NumberDataPoint| {
        let Some(Number::AsDouble(value)) = point.value else { panic!("{name}: {point:?}") };
        (format!("{name}{}", labels(&point.attributes)), value)
    };
    match metric.data.as_ref().expect("numbers") {
        Data::Gauge(gauge) => gauge.data_points.iter().map(number).collect(),
        Data::Sum(sum) => sum.data_points.iter().map(number).collect(),
        Data::Histogram(histogram) => {
            let points = histogram.data_points.iter().flat_map(|point| {
                assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
                assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                let (labels, sum) = (labels(&point.attributes), point.sum.expect("a sum"));
                [
                    (format!("{name}_sum{labels}"), sum),
                    (format!("{name}_count{labels}"), point.count as f64),
                ]
            });
            points.collect()
        }
        other => panic!("{name}: {other:?}"),
    }
}

/// The series of a page, without the buckets of histograms.
fn series(page: &Answer) -> BTreeMap<String, f64> {
    let lines = page.body.lines().filter(|line| !line.starts_with('#') && !line.contains("le=\""));
    let pair = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a number");
        (name.trim_end_matches("{}").to_owned(), value.parse().expect("a number"))
    };
    lines.map(pair).collect()
}

/// Series that change by themselves.
const MOVING: [&str; 8] = [
    "informant_informer_last_event_age_seconds",
    "informant_otlp_",
    "informant_plugin_account_",
    "informant_plugin_cpu_seconds",
    "informant_plugin_log_bytes",
    "informant_plugin_memory",
    "informant_plugin_schedule_age_seconds",
    "process_",
];

#[test]
fn metrics_have_the_names_and_numbers_of_the_page_and_a_ratio_of_0_sends_no_span() {
    host_fact(async |bench| {
        let (collector, server) = (Collector::start(true), Collector::start(true));
        let (_directory, file) = configuration(&bench, &server);
        let variables = [("OTEL_TRACES_SAMPLER_ARG", "0"), ("OTEL_METRIC_EXPORT_INTERVAL", "50")];
        let mut host = start(&bench, &collector, &["--config", &file], &variables).await;
        act(&bench, &host).await;
        let is_still = |name: &str| !MOVING.iter().any(|moving| name.starts_with(moving));
        let same = async || {
            let shown = series(&host.get("/metrics").ok()?);
            let sent: BTreeMap<String, f64> = collector.metrics().iter().flat_map(lines).collect();
            let numbers = |of: &BTreeMap<String, f64>| {
                let still = of.iter().filter(|(name, _)| is_still(name));
                still.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>()
            };
            let is_same = shown.keys().eq(sent.keys()) && numbers(&shown) == numbers(&sent);
            is_same.then_some(shown)
        };
        let shown = poll::until("the same metrics", LINES_DEADLINE, same).await.unwrap();
        let still = shown.keys().filter(|name| is_still(name)).count();
        assert!(still > 100, "{still}: {shown:?}");

        let status = host.terminate(END_MAX).unwrap();
        assert!(status.success(), "{status}: {}", host.tail());
        assert_eq!(collector.asked("/v1/traces").len(), 0);
        assert_eq!(server.asked("/ours")[0].header("traceparent"), None);
        let told = host.lines().into_iter().find(|line| line.field("trace_id").is_some());
        assert!(told.is_none(), "{told:?}");
    });
}

#[test]
fn a_collector_that_does_not_answer_delays_no_event_and_not_the_end() {
    host_fact(async |bench| {
        let collector = Collector::start(false);
        bench.drop_plugin("event-printer", "event-printer");
        let silence = SILENCE.as_millis().to_string();
        let variables = [
            ("OTEL_BSP_MAX_QUEUE_SIZE", "16"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", silence.as_str()),
            ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "86400000"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "10"),
        ];
        let mut host = start(&bench, &collector, &[], &variables).await;
        bench.create_pods(&pod_names(0..PODS)).await;
        await_told(&host, &bench.namespace, "added", PODS).await;
        let dropped = async || {
            let page = host.get("/metrics").ok()?;
            let dropped = page.series(r#"informant_otlp_spans_total{result="dropped"}"#)?;
            let failed = page.series(r#"informant_otlp_requests_total{result="failed"}"#)?;
            (dropped > 0.0 && failed > 1.0).then_some(())
        };
        poll::until("dropped spans and failed requests", LINES_DEADLINE, dropped).await.unwrap();
        let page = host.get("/metrics").unwrap();
        let latency = |part: &str| {
            let name = "informant_plugin_event_latency_seconds";
            page.series(&format!("{name}_{part}{{plugin=\"event-printer\"}}")).expect("a number")
        };
        let mean = latency("sum") / latency("count");
        assert!(mean < SILENCE.as_secs_f64() / 2.0, "{mean}");
        let asked = Instant::now();
        let status = host.terminate(LINES_DEADLINE).unwrap();
        assert!(status.success(), "{status}: {}", host.tail());
        assert!(asked.elapsed() < SILENT_END_MAX, "{:?}", asked.elapsed());
        let told = host.lines().into_iter().filter(|line| line.text.contains("cannot be exported"));
        let told: Vec<String> = told.map(|line| line.text).collect();
        assert_eq!(told.len(), 1, "{told:?}");
    });
}

#[test]
fn the_log_says_once_that_the_export_fails_and_once_that_it_works_again() {
    host_fact(async |bench| {
        let collector = Collector::start(true);
        bench.drop_plugin("event-printer", "event-printer");
        let variables = [("OTEL_METRICS_EXPORTER", "none")];
        let mut host = start(&bench, &collector, &[], &variables).await;
        collector.set_away(true);
        bench.create_pods(&pod_names(0..1)).await;
        let says = |text: &'static str| move |line: &Line| line.message().starts_with(text);
        let failed = says("traces cannot be exported");
        host.await_line("a failed export", LINES_DEADLINE, failed).await.unwrap();
        bench.create_pods(&pod_names(1..2)).await;
        failed_requests(&host, 2.0).await;
        collector.set_away(false);
        let works = says("traces are exported again");
        host.await_line("an export", LINES_DEADLINE, works).await.unwrap();
        let status = host.terminate(END_MAX).unwrap();
        assert!(status.success(), "{status}: {}", host.tail());
        let names: Vec<String> = collector.spans().into_iter().map(|(_, span)| span.name).collect();
        let calls = names.iter().filter(|name| *name == "handle event-printer").count();
        assert!(calls >= 2, "the spans of both pods: {names:?}");
        for text in ["traces cannot be exported", "traces are exported again"] {
            let told = host.lines().iter().filter(|line| line.message().starts_with(text)).count();
            assert_eq!(told, 1, "{text}");
        }
    });
}

/// Waits for so many failed requests.
async fn failed_requests(host: &Host, count: f64) {
    let failed = async || {
        let page = host.get("/metrics").ok()?;
        let failed = page.series(r#"informant_otlp_requests_total{result="failed"}"#)?;
        (failed >= count).then_some(())
    };
    poll::until("failed requests", LINES_DEADLINE, failed).await.unwrap();
}
