//! Own writes over an informer: a handler's reads at a deletion, and namespaces with different progress.

use super::*;
use crate::informer_factory::{FactoryOptions, SharedInformerFactory};
use crate::resource_event_handler::{Cause, FinalState, ResourceEventHandler};
use crate::scope::Scope;
use crate::shared_informer::SharedIndexInformer;
use crate::shared_processor::Registration;
use crate::testing::FakeControllerSource;
use std::sync::Arc;

/// A controller that reads its own write when it is notified of the object's deletion.
#[derive(Clone)]
struct Reader {
    cache: Arc<MutationCache>,
    read: Arc<Mutex<Vec<String>>>,
}

impl ResourceEventHandler for Reader {
    fn on_add(&self, _: &Object, _: Cause) {}

    fn on_update(&self, _: &Object, _: &Object, _: Cause) {}

    fn on_delete(&self, last: &Object, _: FinalState, _: Cause) {
        let seen = self.cache.get(last.key(), Instant::now());
        let seen = seen.map_or("-".to_owned(), |object| object.resource_version().to_owned());
        self.read.lock().push(format!("{} {seen}", last.key()));
    }
}

struct Informed {
    source: FakeControllerSource,
    informer: SharedIndexInformer,
    reader: Reader,
    _factory: SharedInformerFactory,
    _registration: Registration,
}

impl Informed {
    /// An informer of these namespaces, each with the objects `a` and `b`.
    async fn new(namespaces: &[&str]) -> Self {
        let source = FakeControllerSource::default();
        for namespace in namespaces {
            for name in ["a", "b"] {
                source.add(&json(namespace, name));
            }
        }
        let scope = Scope::namespaces(namespaces.iter().copied());
        let options = FactoryOptions { seed: 1, scope, ..Default::default() };
        let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
        let informer = factory.for_resource(&"v1/pods".parse().expect("a resource"));
        let cache = Arc::new(MutationCache::new(informer.indexer()));
        let reader = Reader { cache, read: Arc::default() };
        let registration = informer.add_inline_handler(
            Arc::new(reader.clone()),
            crate::handler_queue::HandlerOptions::default(),
        );
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(120)).await.expect("it syncs");
        Self { source, informer, reader, _factory: factory, _registration: registration }
    }

    /// The controller writes objects, without a notification of the informer, and deletes them again.
    fn writes(&self, namespace: &str, names: &[&str]) {
        for name in names {
            let version = self.source.modify_drop_watch(&json(namespace, name));
            let written = object(namespace, name, version);
            self.reader.cache.mutated(written, Instant::now());
        }
    }

    #[track_caller]
    fn check(&self, expect: &[&str]) {
        assert_eq!(std::mem::take(&mut *self.reader.read.lock()), expect);
    }
}

fn json(namespace: &str, name: &str) -> String {
    format!(r#"{{"metadata":{{"namespace":"{namespace}","name":"{name}"}}}}"#)
}

fn object(namespace: &str, name: &str, version: u64) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"{namespace}","name":"{name}","uid":"uid-{name}","resourceVersion":"{version}"}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

async fn back_off() {
    tokio::time::sleep(Duration::from_secs(5)).await;
}

/// Invariant 4.
#[tokio::test(start_paused = true)]
async fn whoever_hears_of_a_deletion_by_a_relist_no_longer_reads_an_own_write() {
    let informed = Informed::new(&["x"]).await;
    informed.writes("x", &["a", "b"]);
    for name in ["a", "b"] {
        informed.source.delete_drop_watch(&json("x", name));
    }
    informed.source.reset_watch();
    back_off().await;
    informed.check(&["x/a -", "x/b -"]);
}

/// Invariants 4 and 7.
#[tokio::test(start_paused = true)]
async fn an_own_write_is_judged_by_its_own_namespace_and_not_by_a_quieter_one() {
    let informed = Informed::new(&["x", "y"]).await;
    // `y` stays where it is; `x` gets all changes.
    informed.writes("x", &["a"]);
    informed.source.delete(&json("x", "a"));
    back_off().await;
    informed.check(&["x/a -"]);
    assert_ne!(informed.informer.last_sync_resource_version().as_deref(), Some("6"));
    // Nor does the progress of `x` say anything about `y`.
    informed.source.add(&json("x", "a"));
    let version = informed.source.add_drop_watch(&json("y", "c"));
    informed.reader.cache.mutated(object("y", "c", version), Instant::now());
    informed.source.add(&json("x", "b"));
    back_off().await;
    let seen = informed.reader.cache.get(&ObjectKey::new("y", "c"), Instant::now());
    assert!(seen.is_some(), "y has not come as far");
}
