//! The Kubernetes API over the cache: clients of an API server at Informant's address.

mod bounds;
mod clients;
mod counted;
mod crowd;
mod foreign_clients;
mod kubectl;
mod refusals;
mod same_changes;

use informant_e2e::api::Api;
use informant_e2e::host::Host;
use serde_json::Value;

/// A client for Informant's address.
fn client(host: &Host) -> kube::Client {
    let uri = format!("http://{}", host.address()).parse().expect("an address");
    let mut config = kube::Config::new(uri);
    config.default_retry = false;
    kube::Client::try_from(config).expect("a client")
}

/// An API client that uses Informant as its API server.
fn api(host: &Host) -> Api {
    Api::new(client(host))
}

/// An object without the parts that the cache removes.
fn cut(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}
