//! LIST: all pods, or page after page.

use axum::body::Body;
use axum::response::Response;
use informant_apimachinery::Status;
use informant_apiserver::ListOptions;

use crate::load_server::cluster::{Cluster, Kind, workload_of};
use crate::load_server::protobuf;
use crate::load_server::selection::Selection;
use crate::load_server::server::{Encoding, body_response};

/// Answers with a page. A continue token is the place of the next pod: nobody changes pods while they are listed.
pub(crate) fn list(
    cluster: &Cluster,
    options: &ListOptions,
    selection: &Selection,
    encoding: Encoding,
) -> Result<Response, Status> {
    let begin = match options.continue_token.as_str() {
        "" => 0,
        token => token.parse().map_err(|_| Status::bad_request("not a token of this server"))?,
    };
    let (versions, resource_version, more) = cluster.page(begin, options.limit, selection);
    let next = if more { (begin + versions.len()).to_string() } else { String::new() };
    let resource_version = resource_version.to_string();
    if !more {
        cluster.count(|report| report.initial_states += 1);
    }
    let body = match encoding {
        Encoding::Json | Encoding::Metadata => {
            let mut out = Vec::with_capacity(versions.len() * 8_192);
            let Kind { kind, api_version } = cluster.kind_of(encoding);
            let head = format!(
                r#"{{"kind":"{kind}List","apiVersion":"{api_version}","metadata":{{"resourceVersion":"{resource_version}","continue":"{next}"}},"items":["#
            );
            out.extend_from_slice(head.as_bytes());
            for (place, version) in versions.iter().enumerate() {
                out.extend_from_slice(if place == 0 { b"{" } else { b",{" });
                workload_of(version.pod, cluster.templates.of(encoding)).render(version, &mut out);
            }
            out.extend_from_slice(b"]}\n");
            out
        }
        Encoding::Protobuf => {
            let templates = &cluster.templates.protobuf;
            let pod = |version| (workload_of(version, templates), version);
            let pods: Vec<_> = versions.iter().map(|v| (pod(v.pod).0, *v)).collect();
            protobuf::list(&pods, &resource_version, &next)
        }
    };
    Ok(body_response(encoding.media_type(), Body::from(body)))
}
