//! The parts of a new version that an actor gets, and those that `/plugins` shows.

use crate::account::Ledger;
use crate::contract::descriptor::Descriptor;
use crate::delivery::reevaluation::Wish;
use crate::event::SubscriptionId;
use crate::guest::json_pointer_index::SharedIndexes;
use crate::guest::reads::Reads;
use crate::namespace_labels::{namespaces, namespaces_scope};
use crate::origin::Origin;
use crate::plugin::actor::Subscription;
use crate::plugin::core::RunningVersion;
use crate::plugin::prepare::Prepared;
use crate::powers::access::VersionPermissions;
use hashbrown::HashMap;
use informant_apimachinery::GroupVersionResource;
use informant_cache::Scope;
use std::sync::Arc;

pub(crate) fn subscriptions(
    descriptor: &Descriptor,
    ids: &[SubscriptionId],
    asked_by: &[u64],
    granted: &VersionPermissions,
) -> HashMap<SubscriptionId, Box<Subscription>> {
    let numbered = descriptor.subscriptions.iter().zip(ids).zip(asked_by).enumerate();
    numbered
        .map(|(index, ((spec, id), asked_by))| {
            let resource = spec.resource.to_string().into();
            let (index, wish) = (index as u32, Wish::from(&**spec));
            let (asked_by, spec) = (*asked_by, spec.clone());
            let permissions = granted.subscriptions.get(index as usize).cloned();
            let permissions = permissions.unwrap_or_default();
            let subscription = Subscription { index, asked_by, resource, permissions, wish, spec };
            (*id, Box::new(subscription))
        })
        .collect()
}

/// The reads of a version, with the namespaces if a grant depends on their labels.
pub(crate) fn reads<T: Into<Origin>>(
    prepared: &Prepared,
    charged: (&SharedIndexes, &Arc<Ledger>),
    granted: &VersionPermissions,
    lease: impl Fn(&GroupVersionResource, Scope) -> T,
) -> Reads {
    let reads = Reads::new(&prepared.descriptor, charged, granted, &lease);
    match prepared.settings.writes.need_namespaces() {
        true => reads.with_namespaces(lease(&namespaces(), namespaces_scope())),
        false => reads,
    }
}

pub(super) fn running(prepared: &Prepared, ids: &[SubscriptionId], sha256: &str) -> RunningVersion {
    RunningVersion {
        version: prepared.descriptor.version.clone(),
        settings: prepared.settings.clone(),
        sha256: sha256.to_owned(),
        wasi: prepared.template.wasi().clone(),
        specs: ids.iter().copied().zip(prepared.descriptor.subscriptions.clone()).collect(),
        reads: prepared.descriptor.reads.clone().into(),
    }
}
