//! The selected objects of one state of the cache, in batches: an answer that a client reads slowly keeps the state, which
//! all answers share, and one batch.

use super::stored::shown;
use futures::future::BoxFuture;
use informant_apimachinery::{LabelSelector, Status};
use informant_apiserver::{ApiObject, ObjectBatches, ResourceInfo, Selection, aside};
use informant_cache::{Indexer, ObjectKey, Snapshot};
use std::sync::Arc;

/// Objects of one batch.
const BATCH_ITEMS: usize = 128;
/// Objects that a selector looks at before the work of another request has its turn.
const STEP_ITEMS: usize = 500;
/// Bytes that a field selector unpacks before the work of another request has its turn.
const STEP_BYTES: usize = 4 << 20;

/// The objects that no batch had yet.
pub(super) struct SelectedObjects {
    /// None once a batch had the last ones.
    unseen: Option<Unseen>,
}

/// The objects of the state after a cursor.
struct Unseen {
    snapshot: Snapshot,
    resource: Arc<ResourceInfo>,
    selection: Selection,
    cursor: Option<String>,
}

/// The first batch, and the batches after it.
type Begun = (Vec<Arc<ApiObject>>, Option<Box<dyn ObjectBatches>>);

impl SelectedObjects {
    /// The selected objects by namespace and name, after this `namespace/name` where a list goes on.
    pub(super) async fn begin(
        snapshot: Snapshot,
        resource: &Arc<ResourceInfo>,
        selection: &Selection,
        start_after: Option<String>,
    ) -> Result<Begun, Status> {
        let start_after =
            start_after.as_deref().map(|key| key.split_once('/').unwrap_or(("", key)));
        let start_after = start_after.map(|(namespace, name)| ObjectKey::new(namespace, name));
        let cursor = start_after.as_ref().map(Indexer::cursor_after);
        let (resource, selection) = (resource.clone(), selection.clone());
        let mut objects = Self { unseen: Some(Unseen { snapshot, resource, selection, cursor }) };
        let first = objects.batch().await?.unwrap_or_default();
        let more = objects.unseen.is_some();
        Ok((first, more.then(|| Box::new(objects) as Box<dyn ObjectBatches>)))
    }

    /// A selector may look at every object and unpack it, so that is done aside, in steps.
    async fn batch(&mut self) -> Result<Option<Vec<Arc<ApiObject>>>, Status> {
        while let Some(unseen) = self.unseen.take() {
            let stepped = aside(|| unseen.step()).await;
            let selected;
            (selected, self.unseen) =
                stepped.ok_or_else(|| Status::service_unavailable("the host stops"))??;
            if !selected.is_empty() {
                return Ok(Some(selected));
            }
        }
        Ok(None)
    }
}

impl ObjectBatches for SelectedObjects {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Arc<ApiObject>>>, Status>> {
        Box::pin(self.batch())
    }
}

impl Unseen {
    /// The selected ones of the next objects, and the objects after these.
    fn step(mut self) -> Result<(Vec<Arc<ApiObject>>, Option<Self>), Status> {
        let selection = &self.selection;
        let (namespace, everything) = (selection.namespace.as_deref(), LabelSelector::default());
        let items_max = if selection.has_no_selectors() { BATCH_ITEMS } else { STEP_ITEMS };
        let page = self.snapshot.list(namespace, &everything, items_max, self.cursor.as_deref());
        let page = page.map_err(Status::internal_error)?;
        let unpacks = !selection.fields.is_everything();
        let (mut selected, mut unpacked) = (Vec::new(), 0);
        let mut cursor = page.next;
        for object in page.items {
            if !selection.labels.matches(|key| object.label(key)) {
                continue;
            }
            if unpacks {
                unpacked += object.json_len();
            }
            let key = object.key().clone();
            let object = shown(object.at_rest(), &self.resource);
            if selection.selects(&object) {
                selected.push(object);
            }
            if selected.len() >= BATCH_ITEMS || unpacked >= STEP_BYTES {
                cursor = Some(Indexer::cursor_after(&key));
                break;
            }
        }
        self.cursor = cursor;
        let unseen = self.cursor.is_some().then_some(self);
        Ok((selected, unseen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use informant_apimachinery::GroupVersionResource;
    use informant_cache::testing::FakeControllerSource;
    use informant_cache::{FactoryOptions, SharedInformerFactory};

    /// The batches of the selected ones of so many objects, as the first and the last name of each. Every tenth object has
    /// the label `app=web`.
    async fn batches(objects: usize, labels: &str, start_after: Option<&str>) -> Vec<String> {
        let source = Arc::new(FakeControllerSource::default());
        for number in 0..objects {
            let app = if number % 10 == 0 { "web" } else { "db" };
            let labels = format!(r#"{{"app":"{app}"}}"#);
            source.add(&format!(r#"{{"metadata":{{"name":"{number:04}","labels":{labels}}}}}"#));
        }
        let factory = SharedInformerFactory::new(source, FactoryOptions::default());
        let gvr = GroupVersionResource::new("", "v1", "configmaps");
        let lease = factory.lease(&gvr);
        factory.start();
        assert!(lease.informer().synced().await);
        let snapshot = lease.informer().indexer().snapshot();
        let resource = Arc::new(ResourceInfo::of_kind(gvr, "ConfigMap"));
        let labels = labels.parse().expect("a selector");
        let selection = Selection { labels, ..Selection::default() };
        let start_after = start_after.map(str::to_owned);
        let begun = SelectedObjects::begin(snapshot, &resource, &selection, start_after).await;
        let (first, mut more) = begun.expect("it lists");
        let (mut next, mut found) = (Some(first), Vec::new());
        while let Some(batch) = next {
            let ends = [batch.first(), batch.last()];
            let [from, to] = ends.map(|it| it.map_or("", |object| object.name()));
            found.push(format!("{from}-{to}: {}", batch.len()));
            next = match &mut more {
                Some(more) => more.next().await.expect("it lists"),
                None => None,
            };
        }
        factory.shutdown().await;
        found
    }

    #[tokio::test]
    async fn objects_come_in_batches_in_order() {
        let expect = ["0000-0127: 128", "0128-0255: 128", "0256-0299: 44"];
        assert_eq!(batches(300, "", None).await, expect);
        assert_eq!(batches(300, "", Some("/0255")).await, ["0256-0299: 44"]);
        assert_eq!(batches(128, "", None).await, ["0000-0127: 128"]);
        assert_eq!(batches(0, "", None).await, ["-: 0"]);
    }

    #[tokio::test]
    async fn a_selector_that_selects_few_looks_at_more_objects() {
        assert_eq!(
            batches(1_200, "app=web", None).await,
            ["0000-0490: 50", "0500-0990: 50", "1000-1190: 20"]
        );
        assert_eq!(batches(1_200, "app=none", None).await, ["-: 0"]);
    }

    #[tokio::test]
    async fn a_full_batch_ends_a_step() {
        let expect = ["0001-0142: 128", "0143-0284: 128", "0285-0299: 14"];
        assert_eq!(batches(300, "app=db", None).await, expect);
    }
}
