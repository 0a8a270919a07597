use super::*;

/// The settings with this option and these variables, as `NAME=value` without the prefix `OTEL_`; or the error.
fn read(option: Option<&str>, variables: &[&str]) -> Result<Option<OtlpSettings>, String> {
    read_with(option, variables, |_| {})
}

fn read_with(
    option: Option<&str>,
    variables: &[&str],
    warn: impl FnMut(&str),
) -> Result<Option<OtlpSettings>, String> {
    let variable = |name: &str| {
        let mut pairs = variables.iter().filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| name.strip_prefix("OTEL_") == Some(*key)).map(|(_, it)| it.to_owned())
    };
    OtlpSettings::read(option, variable, warn).map_err(|error| error.to_string())
}

const BASE: Option<&str> = Some("http://127.0.0.1:4318");

#[track_caller]
fn on(option: Option<&str>, variables: &[&str]) -> OtlpSettings {
    read(option, variables).expect("they are valid").expect("it is on")
}

#[track_caller]
fn check_signals(option: Option<&str>, variables: &[&str], expect: &str) {
    let shown = read(option, variables).map(|settings| {
        let Some(settings) = settings else { return "off".to_owned() };
        let shown = |signal: &Option<SignalSettings>| {
            signal.as_ref().map_or_else(|| "-".to_owned(), |it| it.endpoint.to_string())
        };
        format!("{} {}", shown(&settings.traces), shown(&settings.metrics))
    });
    assert_eq!(shown.as_deref().unwrap_or_else(|error| error), expect, "{variables:?}");
}

#[test]
fn the_export_is_off_without_an_endpoint() {
    check_signals(None, &[], "off");
    check_signals(Some(""), &["SERVICE_NAME=a", "TRACES_SAMPLER=nonsense"], "off");
    check_signals(BASE, &["SDK_DISABLED=true"], "off");
    check_signals(BASE, &["TRACES_EXPORTER=none", "METRICS_EXPORTER=none"], "off");
    let both = "http://127.0.0.1:4318/v1/traces http://127.0.0.1:4318/v1/metrics";
    check_signals(BASE, &["SDK_DISABLED=false", "TRACES_EXPORTER=otlp"], both);
    check_signals(BASE, &["METRICS_EXPORTER=none"], "http://127.0.0.1:4318/v1/traces -");
    let own = ["EXPORTER_OTLP_TRACES_ENDPOINT=http://a.org/t"];
    check_signals(None, &own, "http://a.org/t -");
    check_signals(BASE, &own, "http://a.org/t http://127.0.0.1:4318/v1/metrics");
}

#[test]
fn defaults_have_times_of_opentelemetry_and_a_tenth_of_all_traces() {
    let settings = on(BASE, &[]);
    let delay = Duration::from_secs(5);
    assert_eq!(settings.queue, QueueSettings { spans_max: 16_384, batch_max: 4_096, delay });
    assert_eq!(settings.metric_interval, Duration::from_secs(60));
    assert_eq!((settings.ratio, settings.resource), (0.1, vec![]));
    let traces = settings.traces.expect("they are on");
    assert_eq!((traces.timeout, traces.is_compressed), (Duration::from_secs(10), false));
}

#[test]
fn variables_of_a_signal_win_over_those_of_all() {
    let settings = on(
        BASE,
        &[
            "EXPORTER_OTLP_HEADERS=Authorization=Basic%20eA, b=c",
            "EXPORTER_OTLP_METRICS_HEADERS=d=e",
            "EXPORTER_OTLP_TIMEOUT=2000",
            "EXPORTER_OTLP_METRICS_TIMEOUT=3000",
            "EXPORTER_OTLP_COMPRESSION=gzip",
            "EXPORTER_OTLP_METRICS_COMPRESSION=none",
            "EXPORTER_OTLP_CERTIFICATE=/ca",
        ],
    );
    let shown = |signal: Option<SignalSettings>| {
        let SignalSettings { headers, timeout, certificate, is_compressed, endpoint, .. } =
            signal.expect("it is on");
        let text = |(name, value): &(HeaderName, HeaderValue)| {
            assert!(value.is_sensitive());
            format!("{name}: {}", value.to_str().expect("a text"))
        };
        let headers: Vec<String> = headers.iter().map(text).collect();
        let variable = "OTEL_EXPORTER_OTLP_CERTIFICATE".to_owned();
        assert_eq!(certificate, Some((variable, "/ca".into())));
        assert!(!endpoint.is_https);
        (headers.join("; "), timeout.as_secs(), is_compressed)
    };
    assert_eq!(shown(settings.traces), ("authorization: Basic eA; b: c".to_owned(), 2, true));
    assert_eq!(shown(settings.metrics), ("d: e".to_owned(), 3, false));
}

#[track_caller]
fn check_ratio(variables: &[&str], expect: f64) {
    assert_eq!(on(BASE, variables).ratio, expect, "{variables:?}");
}

#[test]
fn samplers_are_ratios() {
    let metrics = "- http://127.0.0.1:4318/v1/metrics";
    check_signals(BASE, &["TRACES_SAMPLER=always_off"], metrics);
    check_signals(BASE, &["TRACES_SAMPLER_ARG=0"], metrics);
    check_ratio(&["TRACES_SAMPLER=parentbased_always_on", "TRACES_SAMPLER_ARG=0.5"], 1.0);
    check_ratio(&["TRACES_SAMPLER=parentbased_traceidratio", "TRACES_SAMPLER_ARG=0.5"], 0.5);
    check_ratio(&["TRACES_SAMPLER_ARG=0.25"], 0.25);
}

#[test]
fn the_resource_has_its_attributes_and_the_services_name() {
    let attributes = "RESOURCE_ATTRIBUTES=service.name=a,team=b%2Cc";
    let resource = |variables: &[&str]| {
        let pairs = on(BASE, variables).resource;
        pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(resource(&[attributes]), "service.name=a team=b,c");
    assert_eq!(resource(&[attributes, "SERVICE_NAME=d"]), "service.name=d team=b,c");
}

/// Checks what is exported with the endpoint in a variable, and what is said.
#[track_caller]
fn check_ignored(variable: &str, expect: &str, said: &str) {
    let url = "http://a.org";
    let variables = ["EXPORTER_OTLP_ENDPOINT=http://a.org", variable];
    let mut warned = Vec::new();
    let settings = read_with(Some(url), &variables, |problem| warned.push(problem.to_owned()));
    let settings = settings.expect("it does not end the start");
    let signals = settings.map(|it| (it.traces.is_some(), it.metrics.is_some()));
    let shown = match signals {
        None => "nothing",
        Some((true, true)) => "both",
        Some((true, false)) => "traces",
        Some(_) => "metrics",
    };
    assert_eq!(shown, expect, "{variable}");
    let warned: Vec<&str> = warned.iter().filter_map(|it| it.split([':', ';']).next()).collect();
    assert_eq!(warned.join(", "), said);
}

#[test]
fn values_for_other_programs_leave_a_signal_off_and_do_not_end_the_start() {
    let grpc = r#"OTEL_EXPORTER_OTLP_PROTOCOL has "grpc""#;
    check_ignored("EXPORTER_OTLP_PROTOCOL=grpc", "nothing", &format!("{grpc}, {grpc}"));
    let exporter = "OTEL_METRICS_EXPORTER has an unknown exporter";
    check_ignored("METRICS_EXPORTER=prometheus", "traces", exporter);
    let sampler = r#"OTEL_TRACES_SAMPLER has "jaeger_remote""#;
    check_ignored("TRACES_SAMPLER=jaeger_remote", "metrics", sampler);
    let interval = r#"OTEL_METRIC_EXPORT_INTERVAL has "1m""#;
    check_ignored("METRIC_EXPORT_INTERVAL=1m", "traces", interval);
    let attributes = "OTEL_RESOURCE_ATTRIBUTES is no list of key=value with commas between them";
    check_ignored("RESOURCE_ATTRIBUTES=nonsense", "both", attributes);
    check_ignored(
        "EXPORTER_OTLP_METRICS_ENDPOINT=a",
        "traces",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT has no scheme or no host",
    );
    // Nothing is said of an export that is off.
    check_signals(None, &["METRICS_EXPORTER=prometheus", "TRACES_SAMPLER=nonsense"], "off");
}

#[test]
fn propagators_without_tracecontext_leave_the_header_out() {
    let propagates = |value: &str| on(BASE, &[&format!("PROPAGATORS={value}")]).propagates;
    let lists = ["", "tracecontext,baggage", "b3, tracecontext", "none", "b3"];
    assert_eq!(lists.map(propagates), [true, true, true, false, false]);
}

#[track_caller]
fn check_refused(variable: &str, expect: &str) {
    let error = read(BASE, &[variable]).expect_err("it is refused");
    assert_eq!(error, expect);
}

#[test]
fn values_that_mean_something_else_are_refused_and_credentials_are_not_repeated() {
    check_refused(
        "EXPORTER_OTLP_PROTOCOL=grpc",
        r#"OTEL_EXPORTER_OTLP_PROTOCOL has "grpc": only http/protobuf is known; collectors take it at port 4318"#,
    );
    check_refused(
        "TRACES_SAMPLER_ARG=2",
        r#"OTEL_TRACES_SAMPLER_ARG has "2"; write a number from 0 to 1"#,
    );
    check_refused(
        "TRACES_SAMPLER=jaeger_remote",
        r#"OTEL_TRACES_SAMPLER has "jaeger_remote": always_on, always_off and traceidratio are known"#,
    );
    check_refused(
        "BSP_MAX_QUEUE_SIZE=0",
        r#"OTEL_BSP_MAX_QUEUE_SIZE has "0"; write a number from 1 to 65536"#,
    );
    check_refused(
        "EXPORTER_OTLP_HEADERS=secret",
        "OTEL_EXPORTER_OTLP_HEADERS is no list of key=value with commas between them",
    );
    check_refused(
        "EXPORTER_OTLP_HEADERS=a=%0Asecret",
        "OTEL_EXPORTER_OTLP_HEADERS has a text that cannot be a header",
    );
    check_refused(
        "TRACES_EXPORTER=zipkin",
        "OTEL_TRACES_EXPORTER has an unknown exporter: otlp and none are known",
    );
}
