//! The two ports: the Kubernetes API, and the commands.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::serve::ListenerExt;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use informant_apimachinery::{GroupVersionResource, Status};
use informant_apiserver as apiserver;
use informant_apiserver::{
    Catalogue, ListOptions, QueryParameters, ResourceInfo, Route, ServeOptions, Source,
    status_response,
};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::load_server::cluster::{Cluster, Kind, Templates};
use crate::load_server::list::list;
use crate::load_server::selection::{Place, Selection};
use crate::load_server::template::Template;
use crate::load_server::watch::{Start, watch};
use crate::load_server::workload::Layout;
use crate::load_server::{control, protobuf, workload};

/// Stamp of what is there from the begin: always 19 digits.
const BEGIN: u64 = 1_000_000_000_000_000_000;

/// What the media type begins with that asks for metadata alone, as objects or as their list.
const METADATA: &str = "application/json;as=PartialObjectMetadata";

/// How the server begins.
pub struct Options {
    /// Where the Kubernetes API is served.
    pub api: SocketAddr,
    /// Where commands are taken.
    pub control: SocketAddr,
    /// Pods at the begin.
    pub pods: u32,
    /// Workloads, among which pods are shared out evenly.
    pub workloads: usize,
    /// Where pods are, and their labels.
    pub layout: Layout,
    /// What every pod follows from.
    pub seed: u64,
    /// A program that turns pods in JSON into protobuf; without it there is none.
    pub encoder: Option<PathBuf>,
    /// Resources beside pods, called as [`other_resource`](crate::load_server::other_resource) says.
    pub resources: u32,
    /// Objects of each of them; they look like pods.
    pub objects: u32,
}

/// How objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Protobuf,
    /// Metadata alone, in JSON.
    Metadata,
}

impl Encoding {
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json | Self::Metadata => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    pub fn watch_media_type(self) -> &'static str {
        match self {
            Self::Json | Self::Metadata => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }
}

/// Serves until the process ends. `ready` is called with the ports once both are open.
pub async fn run(
    options: Options,
    ready: impl FnOnce(SocketAddr, SocketAddr),
) -> anyhow::Result<()> {
    let templates = Arc::new(templates(&options)?);
    let kind = Kind { kind: "Pod".to_owned(), api_version: "v1".to_owned() };
    let cluster = Cluster::new(kind, templates.clone());
    cluster.reset(options.pods, BEGIN)?;
    let mut resources = vec![(pods(), cluster.clone())];
    for number in 0..options.resources {
        let resource = other_resource(number);
        let api_version = format!("{}/{}", resource.group, resource.version);
        let cluster =
            Cluster::new(Kind { kind: kind_of(&resource), api_version }, templates.clone());
        cluster.reset(options.objects, BEGIN)?;
        resources.push((resource, cluster));
    }
    let api = TcpListener::bind(options.api).await.context("listen for the API")?;
    let commands = TcpListener::bind(options.control).await.context("listen for commands")?;
    ready(api.local_addr()?, commands.local_addr()?);
    let documents = Arc::new(Documents::new(resources.iter().map(|(resource, _)| resource)));
    let shared = Arc::new(Server { resources: resources.into_iter().collect(), documents });
    let router = Router::new().fallback(serve).with_state(shared);
    // An event goes out when it happens, not when more have come together.
    let api = api.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let (api, commands) = tokio::join!(async { axum::serve(api, router).await }, async {
        axum::serve(commands, control::router(cluster)).await
    },);
    api.and(commands).context("serve")
}

fn templates(options: &Options) -> anyhow::Result<Templates> {
    // Each namespace has a workload at least.
    let workloads = options.workloads.max(options.layout.namespaces).max(1);
    let pod = |number| workload::pod(number, options.seed, &options.layout);
    let pods: Vec<String> = (0..workloads).map(pod).collect();
    let typed = |pod: &String| format!(r#"{{"kind":"Pod","apiVersion":"v1",{pod}"#);
    let protobuf = match &options.encoder {
        None => Vec::new(),
        Some(encoder) => protobuf::encode(encoder, &pods.iter().map(typed).collect::<Vec<_>>())?,
    };
    let places =
        pods.iter().map(|pod| Place::of(&typed(pod))).collect::<anyhow::Result<Vec<_>>>()?;
    let (places, keys) = places.into_iter().unzip();
    let metadata =
        pods.iter().map(|pod| metadata_of(&typed(pod))).collect::<anyhow::Result<_>>()?;
    let json: Vec<Template> =
        pods.into_iter().map(|pod| Template::of_json(pod.into_bytes())).collect();
    let protobuf: Vec<Template> = protobuf.into_iter().map(Template::of_protobuf).collect();
    for (json, protobuf) in json.iter().zip(&protobuf) {
        let (expect, found) = (json.holes(), protobuf.holes());
        anyhow::ensure!(expect == found, "{expect} holes in JSON are {found} in protobuf");
    }
    Ok(Templates { json, protobuf, metadata, keys, places })
}

/// The metadata of a pod, as what follows the opening brace.
fn metadata_of(pod: &str) -> anyhow::Result<Template> {
    let pod: Value = serde_json::from_str(pod)?;
    let metadata = format!(r#""metadata":{}}}"#, pod["metadata"]);
    Ok(Template::of_json(metadata.into_bytes()))
}

struct Server {
    resources: HashMap<GroupVersionResource, Arc<Cluster>>,
    documents: Arc<dyn Source>,
}

async fn serve(State(server): State<Arc<Server>>, request: Request) -> Response {
    let route = Route::parse(request.uri().path());
    let query = request.uri().query();
    let known = match &route {
        Route::Resource(path) if path.name.is_none() => {
            server.resources.get(&path.gvr).map(|cluster| (cluster, path.namespace.as_deref()))
        }
        _ => None,
    };
    let Some((cluster, namespace)) = known else {
        let options = ServeOptions::default();
        let headers = request.headers();
        return apiserver::serve(&server.documents, &route, query, headers, &options).await;
    };
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let answer = serve_objects(cluster, namespace, query, accept.unwrap_or_default());
    answer.unwrap_or_else(|status| status_response(&status))
}

fn serve_objects(
    cluster: &Arc<Cluster>,
    namespace: Option<&str>,
    query: Option<&str>,
    accept: &str,
) -> Result<Response, Status> {
    let options = ListOptions::parse(&QueryParameters::parse(query))?;
    let accept = accept.trim_start();
    let protobuf = accept.starts_with(Encoding::Protobuf.media_type());
    let encoding = match protobuf && !cluster.templates.protobuf.is_empty() {
        true => Encoding::Protobuf,
        false if accept.starts_with(METADATA) => Encoding::Metadata,
        false => Encoding::Json,
    };
    let selection = Selection::of(&cluster.templates.places, namespace, &options.labels);
    if !options.watch {
        return list(cluster, &options, &selection, encoding);
    }
    if options.send_initial_events == Some(true) {
        return Ok(watch(cluster.clone(), &Start::Initial, selection, encoding));
    }
    let after = options.resource_version.parse().unwrap_or(0);
    if cluster.age_for(after).is_none() {
        return Err(Status::failure(410, "Expired", "too old resource version"));
    }
    Ok(watch(cluster.clone(), &Start::After(after), selection, encoding))
}

fn pods() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "pods")
}

/// The group of all resources beside pods. The names are short: descriptors hold many of them.
const OTHER_GROUP: &str = "bench.dev";

/// The resource beside pods that has this number.
pub fn other_resource(number: u32) -> GroupVersionResource {
    GroupVersionResource::new(OTHER_GROUP, "v1", format!("r{number:02}"))
}

/// `R07`
fn kind_of(resource: &GroupVersionResource) -> String {
    resource.resource.to_uppercase()
}

/// A successful answer.
pub(crate) fn body_response(media_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Discovery and the like, written by the library that the embedded cluster's are written by.
struct Documents(Arc<Catalogue>);

impl Documents {
    fn new<'a>(resources: impl Iterator<Item = &'a GroupVersionResource>) -> Self {
        Self(Arc::new(Catalogue::new(resources.map(|resource| Arc::new(info(resource))))))
    }
}

fn info(resource: &GroupVersionResource) -> ResourceInfo {
    let is_pods = *resource == pods();
    let kind = if is_pods { "Pod".to_owned() } else { kind_of(resource) };
    ResourceInfo {
        short_names: if is_pods { vec!["po".to_owned()] } else { Vec::new() },
        categories: if is_pods { vec!["all".to_owned()] } else { Vec::new() },
        custom: !is_pods,
        verbs: ["get", "list", "watch"].map(str::to_owned).to_vec(),
        ..ResourceInfo::of_kind(resource.clone(), &kind)
    }
}

impl Source for Documents {
    fn catalogue(&self) -> Arc<Catalogue> {
        self.0.clone()
    }

    fn get<'a>(
        &'a self,
        _: &'a Arc<ResourceInfo>,
        _: Option<&'a str>,
        _: &'a str,
        _: apiserver::ListAt,
    ) -> BoxFuture<'a, Result<Arc<apiserver::ApiObject>, Status>> {
        Box::pin(async { Err(Status::method_not_allowed()) })
    }

    fn list(&self, _: apiserver::ListQuery) -> BoxFuture<'_, Result<apiserver::ListPage, Status>> {
        Box::pin(async { Err(Status::method_not_allowed()) })
    }

    fn watch(&self, _: apiserver::WatchQuery) -> BoxFuture<'_, Result<apiserver::Watch, Status>> {
        Box::pin(async { Err(Status::method_not_allowed()) })
    }
}
