//! Connects the simulation to the store: gives changes to the simulation, and carries its requests out.

use std::sync::Arc;

use informant_apimachinery::Status;
use informant_apiserver::{ApiObject, Change, ResourceInfo, Selection};
use jiff::Timestamp;

use super::operation::Operation;
use super::simulation::Simulation;
use super::world::{Key, Kind};
use crate::store::{Changes, DeleteOptions, GroupResource, Store, Target, WriteOptions};

/// The number of changes of one kind that are read at once.
const CHANGES_MAX: usize = 1_024;

/// The simulation's place in the store's history.
#[derive(Debug, Default)]
pub(crate) struct Binding {
    /// By kind, in the order of [`Kind::ALL`]: the resourceVersion up to which the simulation has received the
    /// changes. `None` before the first read, and after the log has forgotten that place.
    seen: [Option<u64>; Kind::ALL.len()],
}

/// One change for the simulation.
struct News {
    resource_version: u64,
    kind: Kind,
    object: Arc<ApiObject>,
    gone: bool,
}

impl Binding {
    /// Gives new changes to the simulation. Returns whether there were any.
    pub(crate) fn pump(
        &mut self,
        store: &Store,
        simulation: &mut Simulation,
        now: Timestamp,
    ) -> bool {
        let mut news = Vec::new();
        for (kind, seen) in Kind::ALL.into_iter().zip(&mut self.seen) {
            let resource = GroupResource::of(&kind.resource());
            let changes = match *seen {
                Some(seen) => store.changes(&resource, store.epoch(&resource), seen, CHANGES_MAX),
                None => {
                    *seen = Some(store.resource_version());
                    simulation.forget_kind(kind, now);
                    news.extend(list(store, kind).into_iter().map(|object| told(kind, object)));
                    continue;
                }
            };
            match changes {
                Changes::Some(changes) => {
                    let newest = changes.last().map(Change::resource_version);
                    *seen = newest.or(Some(store.resource_version()));
                    news.extend(changes.into_iter().map(|change| change_told(kind, change)));
                }
                Changes::Forgotten(_) | Changes::ResourceGone => *seen = None,
            }
        }
        news.sort_by_key(|news| news.resource_version);
        let any = !news.is_empty();
        for News { kind, object, gone, .. } in news {
            let key = Key::new(kind, object.namespace(), object.name());
            simulation.observe(key, (!gone).then(|| object.to_value()), now);
        }
        any
    }

    /// Carries out requests in order. Reports refused requests to the simulation.
    pub(crate) fn apply(
        store: &mut Store,
        simulation: &mut Simulation,
        operations: &[Operation],
        now: Timestamp,
    ) {
        for operation in operations {
            if let Err(status) = carry_out(store, operation, now) {
                tracing::debug!(reason = %status.message, ?operation, "traffic's request was refused");
                simulation.refused(operation, now);
            }
        }
    }
}

fn told(kind: Kind, object: Arc<ApiObject>) -> News {
    News { resource_version: object.resource_version(), kind, object, gone: false }
}

fn change_told(kind: Kind, change: Change) -> News {
    match change {
        Change::Added(object) | Change::Modified { new: object, .. } => told(kind, object),
        Change::Deleted { last, .. } => News { gone: true, ..told(kind, last) },
    }
}

fn list(store: &Store, kind: Kind) -> Vec<Arc<ApiObject>> {
    let Some(resource) = store.catalogue().find(&kind.resource()) else { return Vec::new() };
    store.initial(resource, &Selection::default()).unwrap_or_default()
}

fn carry_out(store: &mut Store, operation: &Operation, now: Timestamp) -> Result<(), Status> {
    let options = WriteOptions::at(now);
    let served = |store: &Store, kind: Kind| {
        store.catalogue().find(&kind.resource()).cloned().ok_or_else(Status::no_such_resource)
    };
    match operation {
        Operation::Create { kind, namespace, object } => {
            let resource = served(store, *kind)?;
            store.create(&resource, namespaced(namespace), object.clone(), options)?;
        }
        Operation::Update { key, object } => {
            let resource = served(store, key.kind)?;
            store.update(&target(&resource, key, None), object.clone(), options)?;
        }
        Operation::UpdateStatus { key, object } => {
            let resource = served(store, key.kind)?;
            store.update(&target(&resource, key, Some("status")), object.clone(), options)?;
        }
        Operation::Delete { key, uid } | Operation::Remove { key, uid } => {
            let resource = served(store, key.kind)?;
            let removes = matches!(operation, Operation::Remove { .. });
            let delete = DeleteOptions {
                uid: Some(uid.clone()),
                grace_period_seconds: removes.then_some(0),
                ..Default::default()
            };
            store.delete(&target(&resource, key, None), &delete, options)?;
        }
    }
    Ok(())
}

fn namespaced(namespace: &str) -> Option<&str> {
    Some(namespace).filter(|namespace| !namespace.is_empty())
}

fn target<'a>(
    resource: &'a Arc<ResourceInfo>,
    key: &'a Key,
    subresource: Option<&'a str>,
) -> Target<'a> {
    Target { resource, namespace: namespaced(&key.namespace), name: &key.name, subresource }
}
