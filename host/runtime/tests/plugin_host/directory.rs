//! Random lives of directories under a whole host, with the events that the system really sends.

#[path = "operations.rs"]
#[expect(dead_code, reason = "what looks between steps go by is for the unit tests")]
mod operations;

use super::{DEADLINE, hello_again};
use informant_cache::testing::FakeControllerSource;
use informant_cache::{FactoryOptions, SharedInformerFactory};
use informant_runtime::{PluginHost, PluginHostOptions, Plugins};
use operations::{Operation, Site};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Lives at the same time under one host, each with directories and names of its own.
const LIVES: u64 = 12;
const OPERATIONS: usize = 6;

/// What runs of one life, with the hash that is shown.
fn running(plugins: &Plugins, prefix: &str) -> BTreeMap<String, String> {
    let status = plugins.status().into_iter();
    let ours = status.filter(|status| status.name.as_str().starts_with(prefix));
    let shown = |status: informant_runtime::PluginStatus| {
        let sha256 = status.to_json()["sha256"].as_str().unwrap_or("none").to_owned();
        (status.name.to_string(), sha256)
    };
    ours.map(shown).collect()
}

async fn rest(site: &Site, plugins: &Plugins, prefix: &str, history: &[Operation]) {
    let hash = |(name, content): (String, Vec<u8>)| {
        let digest = Sha256::digest(content);
        (name, digest.iter().map(|byte| format!("{byte:02x}")).collect())
    };
    let wanted: BTreeMap<String, String> = site.wanted().into_iter().map(hash).collect();
    let right = async {
        while running(plugins, prefix) != wanted {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    if tokio::time::timeout(DEADLINE, right).await.is_err() {
        let running = running(plugins, prefix);
        panic!("{prefix} runs {running:?}, wanted is {wanted:?}, after {history:?}");
    }
}

async fn live(mut site: Site, seed: u64, prefix: &str, plugins: &Plugins) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut history = Vec::new();
    for _ in 0..OPERATIONS {
        let operation = site.choose(&mut random);
        // It takes effect at the next periodic look, for which nobody here wants to wait.
        if operation == Operation::ChangeTarget {
            continue;
        }
        if operation.freezes() {
            rest(&site, plugins, prefix, &history).await;
        }
        history.push(operation);
        for step in site.steps(operation, &mut random) {
            step.carry_out();
            tokio::time::sleep(Duration::from_millis(random.u64(..200))).await;
        }
        if operation == Operation::HideDirectory {
            rest(&site, plugins, prefix, &history).await;
        }
    }
    rest(&site, plugins, prefix, &history).await;
}

#[tokio::test]
async fn random_lives_of_directories_end_with_the_right_versions() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let prefix = |seed: u64| format!("life-{seed}-");
    let site =
        |seed: u64| Site::new(&root.path().join(seed.to_string()), &prefix(seed), hello_again);
    let sites: Vec<(u64, Site)> = (0..LIVES).map(|seed| (seed, site(seed))).collect();
    let source = Arc::new(FakeControllerSource::default());
    let informers = Arc::new(SharedInformerFactory::new(source, FactoryOptions::default()));
    let host = PluginHost::new(PluginHostOptions::alone(
        sites.iter().flat_map(|(_, site)| site.directories()).collect(),
        informers.clone(),
    ))
    .expect("the host can be made");
    let (plugins, shutdown) = (host.plugins(), CancellationToken::new());
    let host = tokio::spawn(host.run(shutdown.clone()));
    let lives = sites.into_iter().map(|(seed, site)| {
        let (plugins, prefix) = (&plugins, prefix(seed));
        async move { live(site, seed, &prefix, plugins).await }
    });
    futures::future::join_all(lives).await;
    shutdown.cancel();
    host.await.expect("the host ends well");
    informers.shutdown().await;
}
