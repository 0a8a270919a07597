//! The Kubernetes API over the cache: clients of an API server against Informant's address.

mod bounds;
mod clients;
mod counted;
mod crowd;
mod kubectl;
mod refusals;
mod same_changes;

use informant_e2e::api::Api;
use informant_e2e::host::Host;
use serde_json::Value;

/// A client of Informant's address.
fn client(host: &Host) -> kube::Client {
    let uri = format!("http://{}", host.address()).parse().expect("an address");
    let mut config = kube::Config::new(uri);
    config.default_retry = false;
    kube::Client::try_from(config).expect("a client")
}

/// Speaks to Informant as to an API server.
fn api(host: &Host) -> Api {
    Api::new(client(host))
}

/// An object without what the cache cuts out.
fn cut(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}
