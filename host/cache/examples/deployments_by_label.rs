//! Deployments over HTTP, answered from the cache.
//!
//! `cargo run -p informant-cache --example deployments_by_label`, then
//! `curl -g 'http://127.0.0.1:8888/deploy?labels[k8s-app]=kube-dns'`
//!
//! Shows reads by selector while the informer goes on. `labels[KEY]=VALUE` may come several times, and all must hold; without
//! it every Deployment is answered. 200 is `{"data": [objects]}`, 400 `{"msg": "what is wrong"}`.

mod connect;

use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Parser;
use connect::{ClusterArgs, Failure, SYNC_DEADLINE};
use informant_cache::{ApiServer, FactoryOptions, Indexer, LabelSelector, SharedInformerFactory};
use k8s_openapi::api::apps::v1::Deployment;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Serves the Deployments of a cluster by label, until Ctrl-C.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:8888")]
    listen: SocketAddr,
}

/// The selector that a query stands for: equality of each label in it.
fn selector(query: &str) -> Result<LabelSelector, String> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    let mut requirements = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (decode(key), decode(value));
        let label = key.strip_prefix("labels[").and_then(|rest| rest.strip_suffix(']'));
        let Some(label) = label else {
            return Err(format!("unknown parameter {key:?}; write labels[k8s-app]=kube-dns"));
        };
        // The selector's own characters would make something else of it than an equality.
        if [label, &*value].iter().any(|text| text.contains(['=', '!', ',', '(', ')', ' '])) {
            return Err(format!("labels[{label}]={value} is not one label and one value"));
        }
        requirements.push(format!("{label}={value}"));
    }
    requirements.join(",").parse().map_err(|error| format!("{error}"))
}

async fn deployments(State(indexer): State<Indexer>, RawQuery(query): RawQuery) -> Response {
    let found = selector(query.as_deref().unwrap_or_default()).and_then(|selector| {
        indexer.list(None, &selector, 0, None).map_err(|error| error.to_string())
    });
    let json = [(header::CONTENT_TYPE, "application/json")];
    match found {
        Ok(page) => {
            // The objects are JSON already.
            let mut body = b"{\"data\":[".to_vec();
            for (number, object) in page.items.iter().enumerate() {
                body.extend_from_slice(if number == 0 { b"" } else { b"," });
                body.extend_from_slice(&object.json());
            }
            body.extend_from_slice(b"]}");
            (json, body).into_response()
        }
        Err(problem) => {
            let body = serde_json::json!({"msg": problem}).to_string();
            (StatusCode::BAD_REQUEST, json, body).into_response()
        }
    }
}

/// The program, but for the command line.
pub async fn run(
    client: kube::Client,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let source = Arc::new(ApiServer::new(client));
    let factory = SharedInformerFactory::new(source, FactoryOptions::default());
    let indexer = factory.informer_for::<Deployment>().indexer();
    factory.start();
    let served = async {
        // Before that an answer would leave out what is there.
        factory.wait_for_cache_sync(SYNC_DEADLINE).await?;
        let router = axum::Router::new().route("/deploy", get(deployments)).with_state(indexer);
        axum::serve(listener, router).with_graceful_shutdown(shutdown).await?;
        Ok(())
    };
    let served = served.await;
    factory.shutdown().await;
    served
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args = Args::parse();
    connect::log_to_stderr();
    let client = args.cluster.client().await?;
    let listener = TcpListener::bind(args.listen).await?;
    run(client, listener, connect::interrupted()).await
}
