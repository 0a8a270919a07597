//! The memory of an informer that waits for a resource which the cluster does not serve. A plugin may subscribe to
//! hundreds of such resources.

use super::{check, settle};
use allocation_counter::measure;
use informant_apimachinery::GroupVersionResource;
use informant_cache::testing::FakeControllerSource;
use informant_cache::{FactoryOptions, InformerLease, Scope, SharedInformerFactory};
use std::sync::Arc;
use tokio::runtime::Builder;

const INFORMERS: usize = 500;
/// Bytes of the heap for an informer with one list and watch.
const BYTES_AN_INFORMER_MAX: u64 = 11_500;
/// The same for each further namespace that is listed and watched by itself.
const BYTES_A_NAMESPACE_MAX: u64 = 4_500;

/// Bytes for each informer of so many namespaces, once all of them wait.
fn bytes(namespaces: usize) -> u64 {
    let builder = &mut Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
    let source = FakeControllerSource::default();
    source.set_served(false);
    let factory = SharedInformerFactory::new(Arc::new(source), FactoryOptions::default());
    let names: Vec<String> = (0..namespaces).map(|number| format!("n{number}")).collect();
    let mut leases: Vec<InformerLease> = Vec::with_capacity(INFORMERS);
    let info = measure(|| {
        let _entered = runtime.enter();
        leases.extend((0..INFORMERS).map(|number| {
            let gvr = GroupVersionResource::new("example.com", "v1", format!("things{number}"));
            let scope = Scope::namespaces(names.iter().map(String::as_str));
            factory.lease_of(&gvr, scope).expect("the factory has no narrower scope")
        }));
        factory.start();
        settle(&runtime);
    });
    assert!(leases.iter().all(|lease| lease.informer().state().is_settled()));
    runtime.block_on(factory.shutdown());
    u64::try_from(info.bytes_current).unwrap_or(0) / INFORMERS as u64
}

#[test]
fn an_informer_that_waits_takes_little_memory() {
    let one = bytes(1);
    check("bytes an informer", one, BYTES_AN_INFORMER_MAX);
    check("bytes a further namespace", (bytes(9) - one) / 8, BYTES_A_NAMESPACE_MAX);
}
