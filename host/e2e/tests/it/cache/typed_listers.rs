//! Listers of types that are not from k8s-openapi: kube's `DynamicObject`, and a custom type for a custom resource.

use crate::cache::bench::DEADLINE;
use informant_cache::testing::FakeControllerSource;
use informant_cache::{FactoryOptions, Indexer, Lister, ObjectKey, SharedInformerFactory};
use kube::core::{DynamicObject, ObjectMeta};
use serde::Deserialize;
use std::sync::Arc;

const WIDGET: &str = r#"{"apiVersion":"example.dev/v1","kind":"Widget","metadata":{"namespace":"default","name":"a","labels":{"app":"web"}},"spec":{"size":3}}"#;

#[derive(Deserialize)]
struct Widget {
    metadata: ObjectMeta,
    spec: WidgetSpec,
}

#[derive(Deserialize)]
struct WidgetSpec {
    size: u32,
}

/// Checks what `look` finds in a cache with one widget.
fn check(look: impl FnOnce(Indexer, &ObjectKey)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let source = FakeControllerSource::default();
        source.add(WIDGET);
        let factory = SharedInformerFactory::new(Arc::new(source), FactoryOptions::default());
        let widgets = factory.for_resource(&"example.dev/v1/widgets".parse().expect("a resource"));
        factory.start();
        factory.wait_for_cache_sync(DEADLINE).await.expect("it syncs");
        look(widgets.indexer(), &ObjectKey::new("default", "a"));
        factory.shutdown().await;
    });
}

#[test]
fn dynamic_objects_are_listed() {
    check(|indexer, key| {
        let lister = Lister::<DynamicObject>::new(indexer);
        let widget = lister.get(key).expect("it decodes").expect("it is there");
        assert!(widget.types.is_some(), "every cached object says what it is");
        assert_eq!(widget.data["spec"]["size"], 3);
        let found = lister.list(&"app=web".parse().expect("a selector")).expect("they decode");
        assert_eq!(found.len(), 1);
    });
}

#[test]
fn a_custom_resource_is_listed_as_ones_own_type() {
    check(|indexer, key| {
        let widgets = Lister::<Widget>::new(indexer).namespace("default");
        let widget = widgets.get(key.name()).expect("it decodes").expect("it is there");
        assert_eq!((widget.metadata.name.as_deref(), widget.spec.size), (Some("a"), 3));
    });
}
