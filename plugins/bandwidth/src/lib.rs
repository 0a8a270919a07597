//! A controller: sets the bandwidth of pods from their annotations `kubernetes.io/ingress-bandwidth` and `kubernetes.io/egress-bandwidth`.
//!
//! The host makes keys of changed annotations. A sync of a key reads the pod and sends its limits to an HTTP endpoint.

use informant_apimachinery::quantity;
use informant_plugin::clock::Instant;
use informant_plugin::http::{Method, Request, Response};
use informant_plugin::log::{Level, log};
use informant_plugin::prelude::*;
use informant_plugin::{Addresses, EnqueueRule, Http, Reconciler};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

const PODS: &str = "v1/pods";
const INGRESS: &str = "kubernetes.io/ingress-bandwidth";
const EGRESS: &str = "kubernetes.io/egress-bandwidth";

/// The name of the plugin's work queue in its log lines.
const QUEUE: &str = "podUpdateQueue";

/// Pods that have a limit, and updates that change one, which may be its end. Of a pod that is gone there is nothing to set.
const FILTER: &str = "change == 'updated' || (change == 'added' && has(object.metadata.annotations) && \
    ('kubernetes.io/ingress-bandwidth' in object.metadata.annotations || 'kubernetes.io/egress-bandwidth' in object.metadata.annotations))";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// Nothing is set without it.
    enabled: bool,
    /// Where limits are put.
    endpoint: String,
    /// Where the endpoint's address is.
    addresses: Reach,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reach {
    Public,
    #[default]
    Private,
    Loopback,
}

/// An endpoint's origin, and its path without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Endpoint {
    origin: String,
    path: String,
}

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// The plugin. It remembers nothing: setting limits again changes nothing.
pub struct Bandwidth {
    /// None where it is switched off.
    endpoint: Option<Endpoint>,
}

impl Plugin for Bandwidth {
    fn describe(config: &Config) -> Result<Descriptor> {
        let settings: Settings = config.parse()?;
        let descriptor = Descriptor::new(env!("CARGO_PKG_VERSION"));
        let Some(endpoint) = settings.endpoint()? else {
            let nothing = Subscription::to(PODS).filter("false").enqueue(EnqueueRule::itself());
            return Ok(descriptor.subscribe(nothing));
        };
        let pods = Subscription::to(PODS)
            .only_if_changed(format!("/metadata/annotations/{}", INGRESS.replace('/', "~1")))
            .only_if_changed(format!("/metadata/annotations/{}", EGRESS.replace('/', "~1")))
            .filter(FILTER)
            .enqueue(EnqueueRule::itself());
        let mut whom = Http::to(endpoint.origin, [Method::Put]).at(settings.addresses.into());
        if !endpoint.path.is_empty() {
            whom = whom.below(endpoint.path);
        }
        Ok(descriptor.subscribe(pods).http(whom))
    }

    fn start(config: &Config) -> Result<Self> {
        let endpoint = config.parse::<Settings>()?.endpoint()?;
        if endpoint.is_none() {
            info!("switched off: nothing is set until its configuration says `enabled: true`");
        }
        Ok(Self { endpoint })
    }
}

impl Reconciler for Bandwidth {
    /// Logs one line for each sync, with its duration. The host logs the error of one that fails.
    fn reconcile(&mut self, key: &str, _: u32) -> Result<Option<Duration>> {
        let Some(endpoint) = &self.endpoint else { return Ok(None) };
        let begun = Instant::now();
        let synced = sync_pod(endpoint, key);
        let took = format!("{:?}", begun.elapsed());
        let failed = || format!("did not set pod {key}");
        let line = synced.as_ref().map_or_else(|_| failed(), ToString::to_string);
        log(Level::Info, line, &[("queue", &QUEUE), ("took", &took)]);
        synced.map(|_| None)
    }
}

export_plugin!(Bandwidth, reconciler);

/// Sends the limits of the pod to the endpoint. The result is a text for the log.
fn sync_pod(endpoint: &Endpoint, key: &str) -> Result<String> {
    let (namespace, name) = key.split_once('/').ok_or("a pod has a namespace")?;
    let Some(pod) = indexer::get::<Pod>(PODS, &ObjectKey::new(namespace, name))? else {
        return Ok(format!("pod {key} is gone"));
    };
    let limit = |annotation| limit(&pod.metadata.annotations, annotation);
    let (ingress, egress) = (limit(INGRESS)?, limit(EGRESS)?);
    let url = format!("{}/namespaces/{namespace}/pods/{name}", endpoint.base());
    let request = Request::put(url).json(&json!({"ingress": ingress, "egress": egress}))?;
    request.send().and_then(Response::success).map_err(|error| error.into_failure())?;
    Ok(format!("set pod {key}: ingress {}, egress {}", shown(ingress), shown(egress)))
}

impl Settings {
    fn endpoint(&self) -> Result<Option<Endpoint>> {
        if !self.enabled {
            return Ok(None);
        }
        let wrong = || {
            let found = &self.endpoint;
            let text = format!(
                "`endpoint` is {found:?}: with `enabled: true` it is a URL such as http://bandwidth.kube-system.svc/v1"
            );
            Failure::new(text).never_retry()
        };
        let (scheme, rest) = self.endpoint.split_once("://").ok_or_else(wrong)?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if !["http", "https"].contains(&scheme) || host.is_empty() || path.contains(['?', '#']) {
            return Err(wrong());
        }
        let path = path.trim_matches('/');
        let path = if path.is_empty() { String::new() } else { format!("/{path}") };
        Ok(Some(Endpoint { origin: format!("{scheme}://{host}"), path }))
    }
}

impl Endpoint {
    fn base(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }
}

impl From<Reach> for Addresses {
    fn from(reach: Reach) -> Self {
        match reach {
            Reach::Public => Self::Public,
            Reach::Private => Self::Private,
            Reach::Loopback => Self::Loopback,
        }
    }
}

/// Bits a second; none: no limit. What is none comes right only with another annotation, which brings the key again.
fn limit(annotations: &BTreeMap<String, String>, annotation: &str) -> Result<Option<u64>> {
    let Some(text) = annotations.get(annotation) else { return Ok(None) };
    let parsed = quantity::parse_rounded_up(text);
    let failure = |error| Failure::new(format!("{annotation}: {error}")).never_retry();
    parsed.map(Some).map_err(failure)
}

fn shown(limit: Option<u64>) -> String {
    limit.map_or("without limit".to_owned(), |bits| format!("{bits} bit/s"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_plugin::testing::Host;

    const POD: &str = "default/web";

    fn config() -> serde_json::Value {
        json!({"enabled": true, "endpoint": "http://limits.kube-system.svc:8080/v1/"})
    }

    /// What is put for a pod with these annotations, and what is logged; or why not.
    #[track_caller]
    fn check(annotations: serde_json::Value, expect: Result<(serde_json::Value, &str), &str>) {
        let host = Host::new();
        let metadata = json!({"namespace": "default", "name": "web", "annotations": annotations});
        host.put(PODS, json!({"metadata": metadata}));
        let mut plugin = host.start::<Bandwidth>(config()).expect("it starts");
        let result = plugin.reconcile(POD, 1);
        let made = host.requests();
        match expect {
            Ok((body, line)) => {
                assert_eq!(result, Ok(None));
                let url = "http://limits.kube-system.svc:8080/v1/namespaces/default/pods/web";
                assert_eq!((made[0].method.as_str(), made[0].url.as_str()), ("PUT", url));
                assert_eq!(
                    serde_json::from_slice::<serde_json::Value>(&made[0].body).ok(),
                    Some(body)
                );
                assert_eq!(host.messages(), [line]);
            }
            Err(message) => {
                assert_eq!(result.expect_err("it fails").message(), message);
                assert!(made.is_empty(), "{made:?}");
                assert_eq!(host.messages(), ["did not set pod default/web"]);
            }
        }
        let fields = &host.log()[0].fields;
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, fields[0].1.as_str()), (vec!["queue", "took"], QUEUE));
        assert!(fields[1].1.ends_with('s'), "{fields:?} has a duration");
    }

    #[test]
    fn limits_are_put() {
        let body = json!({"ingress": 10_000_000, "egress": null});
        let line = "set pod default/web: ingress 10000000 bit/s, egress without limit";
        check(json!({INGRESS: "10M"}), Ok((body, line)));
        let body = json!({"ingress": 1_500, "egress": 1 << 30});
        let line = "set pod default/web: ingress 1500 bit/s, egress 1073741824 bit/s";
        check(json!({INGRESS: "1.5k", EGRESS: "1Gi"}), Ok((body, line)));
    }

    #[test]
    fn a_pod_that_has_none_any_more_has_no_limit() {
        let body = json!({"ingress": null, "egress": null});
        let line = "set pod default/web: ingress without limit, egress without limit";
        check(json!({}), Ok((body, line)));
    }

    #[test]
    fn what_is_no_bandwidth_is_an_error() {
        let message = "kubernetes.io/egress-bandwidth: \"fast\" is no quantity, such as 64Mi, 10M or 4096: it does not begin with a number, or with a negative one";
        check(json!({EGRESS: "fast"}), Err(message));
    }

    #[test]
    fn an_answer_that_is_none_brings_the_key_again() {
        let host = Host::new();
        host.put(PODS, json!({"metadata": {"namespace": "default", "name": "web"}}));
        let mut plugin = host.start::<Bandwidth>(config()).expect("it starts");
        host.answer_request(Ok(Response::new(503, "")));
        let failure = plugin.reconcile(POD, 1).expect_err("it fails");
        assert_eq!(failure.message(), "answered with status 503");
        assert_eq!(plugin.reconcile(POD, 2), Ok(None));
        assert_eq!(host.requests().len(), 2);
    }

    #[test]
    fn a_pod_that_is_gone_is_done() {
        let host = Host::new();
        let mut plugin = host.start::<Bandwidth>(config()).expect("it starts");
        assert_eq!(plugin.reconcile(POD, 1), Ok(None));
        assert_eq!(host.messages(), ["pod default/web is gone"]);
    }

    #[track_caller]
    fn check_settings(settings: serde_json::Value, expect: Result<Option<(&str, &str)>, ()>) {
        let config = Config::from_json(settings.to_string());
        let found = config.parse::<Settings>().and_then(|settings| settings.endpoint());
        let found = found
            .as_ref()
            .map(|found| found.as_ref().map(|found| (found.origin.as_str(), found.path.as_str())));
        assert_eq!(found.map_err(|_| ()), expect, "{settings}");
    }

    #[test]
    fn it_is_off_unless_it_is_switched_on() {
        check_settings(json!({}), Ok(None));
        check_settings(json!({"endpoint": "http://a.b"}), Ok(None));
        let on = |endpoint: &str| json!({"enabled": true, "endpoint": endpoint});
        check_settings(on("http://a.b:80/"), Ok(Some(("http://a.b:80", ""))));
        check_settings(on("https://a.b/v1/limits"), Ok(Some(("https://a.b", "/v1/limits"))));
        for wrong in ["", "a.b", "ftp://a.b", "http:///v1", "http://a.b/v1?x=1"] {
            check_settings(on(wrong), Err(()));
        }
        check_settings(json!({"enable": true}), Err(()));
    }
}
