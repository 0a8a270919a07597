//! Calls for keys and schedules, and their links to changes.

use super::collector::{Collector, attribute};
use super::{Trace, check_within, start};
use crate::host::bench::{CONFIGURATION_HEAD as HEAD, LINES_DEADLINE, host_fact};
use informant_e2e::poll;
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::json;

#[test]
fn calls_for_keys_and_schedules_are_traces_of_their_own_with_links_to_changes() {
    host_fact(async |bench| {
        let (collector, namespace) = (Collector::start(true), &bench.namespace);
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mood"}});
        bench.api.create(&path, &object).await.expect(201);
        let plugin = |name: &str, kind: &str, resource: &str, writes: bool| {
            let config = format!(
                "{{as: {kind}, resource: v1/configmaps, namespace: {namespace}, writes: {writes}}}"
            );
            let writes = format!("[{{resources: [{resource}], verbs: [patch]}}]");
            bench.drop_plugin("moods", name);
            format!("{name}: {{config: {config}, writes: {writes}}}")
        };
        let plugins = [
            plugin("keys", "controller", "v1/configmaps", true),
            plugin("ticks", "timer", "v1/configmaps", true),
            plugin("careful", "controller", "v1/secrets", false),
        ]
        .join(", ");
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("informant.yaml");
        let text = format!("{HEAD}HostConfiguration\nplugins: {{{plugins}}}\n");
        std::fs::write(&file, text).expect("a file");
        let more = ["--config", &file.display().to_string()];
        let host = start(&bench, &collector, &more, &[]).await;
        for call in ["reconcile keys", "fire ticks"] {
            let found = async || {
                let spans: Vec<Span> = collector.spans().into_iter().map(|(_, it)| it).collect();
                let call = spans.iter().find(|span| span.name == call)?.clone();
                let of_trace = spans.into_iter().filter(|span| span.trace_id == call.trace_id);
                Some((call.clone(), of_trace.collect::<Vec<_>>()))
            };
            let (call, spans) = poll::until(call, LINES_DEADLINE, found).await.unwrap();
            assert!(call.parent_span_id.is_empty(), "{call:?}");
            let trace = Trace(spans);
            assert_eq!(trace.0.len(), 2, "{:?}", trace.names());
            check_within(trace.one("patch v1/configmaps"), &call);
        }
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}});
        bench.api.create(&path, &object).await.expect(201);
        let linked = async || {
            let spans: Vec<Span> = collector.spans().into_iter().map(|(_, it)| it).collect();
            let of_new = |span: &&Span| {
                let name = attribute(&span.attributes, "k8s.object.name");
                span.name == "watch v1/configmaps" && name.as_deref() == Some("new")
            };
            let watch = spans.iter().find(of_new)?;
            let ids = (&watch.trace_id, &watch.span_id);
            let links =
                |span: &&Span| span.links.iter().any(|it| (&it.trace_id, &it.span_id) == ids);
            let call_of = |name: &str| spans.iter().filter(links).find(|it| it.name == name);
            let (keys, careful) = (call_of("reconcile keys")?, call_of("reconcile careful")?);
            let shown = |span: &Span| attribute(&span.attributes, "informant.key");
            Some((shown(keys), shown(careful), keys.trace_id == watch.trace_id))
        };
        let linked = poll::until("a link to the change", LINES_DEADLINE, linked).await.unwrap();
        // The key of a plugin with a grant for Secrets may be a name of one.
        assert_eq!(linked, (Some(format!("{namespace}/new")), None, false));
        drop(host);
    });
}
