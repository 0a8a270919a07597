//! Any resource over HTTP: its informer is made by the first who asks.
//!
//! `cargo run -p informant-cache --example any_resource`, then `curl http://127.0.0.1:8888/core/v1/pods`
//!
//! Shows informers made on demand, with what that needs: a look whether there is such a resource (404), a deadline for its
//! first list (504), and a limit on how many there may be (429). 200 is `{"msg": [objects]}`, everything else `{"msg": "why"}`.

mod connect;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Parser;
use connect::{ClusterArgs, Failure};
use informant_cache::{
    ApiServer, FactoryOptions, GroupVersionResource, LabelSelector, SharedIndexInformer,
    SharedInformerFactory,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Each keeps all objects of a resource in memory.
const INFORMERS_MAX: usize = 16;
/// How long a request waits for the resource's first list.
const SYNC_DEADLINE: Duration = Duration::from_secs(10);
/// How long it waits to hear whether there is such a resource.
const DISCOVERY_DEADLINE: Duration = Duration::from_secs(5);

/// Serves any resource of a cluster, until Ctrl-C.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:8888")]
    listen: SocketAddr,
}

struct Server {
    client: kube::Client,
    factory: SharedInformerFactory,
    /// Held while an informer is looked for and made, so that the limit holds.
    making: tokio::sync::Mutex<()>,
}

type Refusal = (StatusCode, String);

impl Server {
    async fn informer(
        &self,
        resource: &GroupVersionResource,
    ) -> Result<SharedIndexInformer, Refusal> {
        if resource.is_secrets() {
            return Err((StatusCode::FORBIDDEN, "Secrets are not served".to_owned()));
        }
        let making = self.making.lock().await;
        let informers = self.factory.informers();
        let known = informers.iter().find(|informer| informer.resource() == resource).cloned();
        let informer = match known {
            Some(informer) => informer,
            None => {
                // A mistyped name must not leave an informer behind that waits for it for ever.
                self.check_exists(resource).await?;
                if informers.len() >= INFORMERS_MAX {
                    let text = format!("{INFORMERS_MAX} resources are served already");
                    return Err((StatusCode::TOO_MANY_REQUESTS, text));
                }
                self.factory.for_resource(resource)
            }
        };
        self.factory.start();
        drop(making);
        match tokio::time::timeout(SYNC_DEADLINE, informer.synced()).await {
            Ok(true) => Ok(informer),
            Ok(false) | Err(_) => {
                let state = informer.state();
                let text = format!("{resource} has not synced yet ({})", state.as_str());
                Err((StatusCode::GATEWAY_TIMEOUT, text))
            }
        }
    }

    async fn check_exists(&self, resource: &GroupVersionResource) -> Result<(), Refusal> {
        let version = resource.api_version();
        let ask = async {
            match resource.group.is_empty() {
                true => self.client.list_core_api_resources(&version).await,
                false => self.client.list_api_group_resources(&version).await,
            }
        };
        let unknown = || (StatusCode::NOT_FOUND, format!("there is no resource {resource}"));
        match tokio::time::timeout(DISCOVERY_DEADLINE, ask).await {
            Err(_) => Err((StatusCode::GATEWAY_TIMEOUT, "API server does not answer".to_owned())),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(unknown()),
            Ok(Err(error)) => Err((StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
            Ok(Ok(list)) => {
                let found = list.resources.iter().any(|known| known.name == resource.resource);
                if found { Ok(()) } else { Err(unknown()) }
            }
        }
    }
}

async fn any(
    State(server): State<Arc<Server>>,
    Path((group, version, resource)): Path<(String, String, String)>,
) -> Response {
    let group = if group == "core" { String::new() } else { group };
    let resource = GroupVersionResource::new(group, version, resource);
    // Once more through the text, which checks the parts.
    let found = match resource.to_string().parse() {
        Ok(resource) => server.informer(&resource).await,
        Err(error) => Err((StatusCode::BAD_REQUEST, format!("{error}"))),
    };
    let found = found.and_then(|informer| {
        let page = informer.indexer().list(None, &LabelSelector::default(), 0, None);
        page.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
    });
    let json = [(header::CONTENT_TYPE, "application/json")];
    match found {
        Ok(page) => {
            let mut body = b"{\"msg\":[".to_vec();
            for (number, object) in page.items.iter().enumerate() {
                body.extend_from_slice(if number == 0 { b"" } else { b"," });
                body.extend_from_slice(&object.json());
            }
            body.extend_from_slice(b"]}");
            (json, body).into_response()
        }
        Err((code, why)) => {
            (code, json, serde_json::json!({"msg": why}).to_string()).into_response()
        }
    }
}

/// The program, but for the command line.
pub async fn run(
    client: kube::Client,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let source = Arc::new(ApiServer::new(client.clone()));
    let factory = SharedInformerFactory::new(source, FactoryOptions::default());
    let server = Arc::new(Server { client, factory, making: tokio::sync::Mutex::default() });
    let router = axum::Router::new().route("/{group}/{version}/{resource}", get(any));
    let router = router.with_state(server.clone());
    let served = axum::serve(listener, router).with_graceful_shutdown(shutdown).await;
    server.factory.shutdown().await;
    Ok(served?)
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args = Args::parse();
    connect::log_to_stderr();
    let client = args.cluster.client().await?;
    let listener = TcpListener::bind(args.listen).await?;
    run(client, listener, connect::interrupted()).await
}
