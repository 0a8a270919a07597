//! Withheld subscriptions: the plugin's service account may not list and watch their resource. None of their events is
//! delivered, and none is lost. Waiting events are put aside (`delivery/mailbox/withheld.rs`). The keys that were in
//! the cache are remembered, so that a deletion meanwhile is delivered later. When the account may read the resource
//! again, the subscription begins again with the objects of that moment. An object that was never delivered, and that
//! came and went meanwhile, may be delivered as deleted.

use super::{Active, BegunSubscription, Plugin};
use crate::contract::coverage::subscribed_scope;
use crate::contract::descriptor::{Descriptor, NamespaceSet, SubscriptionSpec};
use crate::event::SubscriptionId;
use crate::plugin::core::{AccessShown, RefusedRead};
use crate::powers::access::{Permissions, ReadRefusal};
use informant_apimachinery::{GroupVersionResource, LabelSelector};
use informant_cache::{Object, SharedInformerFactory};
use std::sync::Arc;
use tracing::{info, warn};

/// A subscription that is withheld: no event of it is delivered.
pub(super) struct Withheld {
    pub(super) id: SubscriptionId,
    /// The load since which the subscription is unchanged.
    pub(super) asked_by: u64,
    pub(super) spec: Arc<SubscriptionSpec>,
    /// The objects that were delivered to the plugin, or wait in the queue.
    pub(super) told: Vec<Object>,
}

impl Plugin {
    /// The subscription of this name, withheld or not.
    pub(super) fn known(&self, name: &str) -> Option<(SubscriptionId, u64, &SubscriptionSpec)> {
        let active = self.subscriptions.get(name).map(|it| (it.id, it.asked_by, &*it.spec));
        active.or_else(|| self.withheld.get(name).map(|it| (it.id, it.asked_by, &*it.spec)))
    }

    /// Whether the descriptor's subscription with this number may not be delivered now.
    pub(super) fn is_refused(&self, number: usize) -> bool {
        self.granted.subscriptions.get(number).is_some_and(|permissions| !permissions.allow())
    }

    /// Withholds a subscription, which may have been delivered until now.
    pub(super) fn withhold(&mut self, mut withheld: Withheld, active: Option<Box<Active>>) {
        self.core.queue.change(|it| it.withhold(withheld.id));
        if let Some(Active { registration, informer, spec, handler, .. }) =
            active.map(|active| *active)
        {
            // First the handler ends: later changes must not count as delivered.
            drop(registration);
            let all = LabelSelector::default();
            let present = informer.informer().indexer().list(None, &all, usize::MAX, None);
            let present = present.map(|page| page.items).unwrap_or_default();
            // Other users may have widened the cache. And the plugin may know objects of an earlier view. It has not
            // got an object of which only the metadata are there, if it needs whole objects.
            let (view, scope, progress) =
                (handler.view(), subscribed_scope(&spec), handler.progress());
            let is_delivered = |object: &Object| scope.takes(object) && view.contains(object);
            let is_known = |object: &Object| is_delivered(object) || progress.knows(object);
            withheld.told.extend(present.into_iter().filter(is_known));
        }
        self.withheld.insert(withheld.spec.name.clone(), withheld);
    }

    /// Applies a change of the plugin's permissions: releases the subscriptions that it may read again, and withholds
    /// those that it may no longer read.
    pub(crate) fn follow_access(&mut self, informers: &SharedInformerFactory) {
        if self.granted.account.is_none() {
            return;
        }
        let Some(descriptor) = self.current.as_ref().map(|it| it.prepared.descriptor.clone())
        else {
            return;
        };
        for (number, spec) in descriptor.subscriptions.iter().enumerate() {
            match (self.is_refused(number), self.withheld.remove(&spec.name)) {
                (true, Some(withheld)) => _ = self.withheld.insert(spec.name.clone(), withheld),
                (true, None) => {
                    let Some(active) = self.subscriptions.remove(&spec.name) else { continue };
                    let (id, asked_by, spec) = (active.id, active.asked_by, spec.clone());
                    self.withhold(Withheld { id, asked_by, spec, told: Vec::new() }, Some(active));
                }
                (false, Some(Withheld { id, asked_by, told, .. })) => {
                    self.core.release_withheld(id);
                    // Any load will do that notes when its initial objects are settled.
                    let begun = BegunSubscription { id, asked_by, begun_by: asked_by };
                    let active = self.begin(begun, spec, None, told, informers);
                    self.subscriptions.insert(spec.name.clone(), Box::new(active));
                }
                // An actor may have seen a refusal for a moment.
                (false, None) => {
                    if let Some(active) = self.subscriptions.get(&spec.name) {
                        self.core.release_withheld(active.id);
                    }
                }
            }
        }
        self.show_replays(&descriptor);
        self.show_access(&descriptor);
    }

    /// Shows the refused reads, and logs the changes of this list.
    pub(super) fn show_access(&self, descriptor: &Descriptor) {
        let subscriptions = descriptor.subscriptions.iter().zip(&self.granted.subscriptions);
        let subscriptions = subscriptions.filter_map(|(spec, permissions)| {
            refused(Some(&spec.name), &spec.resource, &spec.namespaces, permissions)
        });
        let reads = descriptor.reads.iter().zip(&self.granted.reads);
        let reads = reads.filter_map(|(spec, permissions)| {
            refused(None, &spec.resource, &spec.namespaces, permissions)
        });
        let refused: Vec<RefusedRead> = subscriptions.chain(reads).collect();
        let account = self.granted.account.clone();
        let shown = account.map(|account| AccessShown { account, refused });
        let before = self.core.shows_access(shown.clone()).map_or(Vec::new(), |it| it.refused);
        let now = shown.map_or(Vec::new(), |shown| shown.refused);
        let name = self.core.name.as_str();
        for refused in now.iter().filter(|it| it.is_denied && !before.contains(it)) {
            let (subscription, why) = (refused.subscription.as_deref(), &refused.why);
            warn!(plugin = name, subscription, "not told or read from here on: {why}");
        }
        let is_still = |before: &RefusedRead| now.iter().any(|now| now.is_of_the_same(before));
        for refused in before.iter().filter(|it| it.is_denied && !is_still(it)) {
            let (subscription, resource) = (refused.subscription.as_deref(), &refused.resource);
            info!(plugin = name, subscription, "{resource} may be read again");
        }
    }
}

fn refused(
    subscription: Option<&str>,
    resource: &GroupVersionResource,
    namespaces: &NamespaceSet,
    permissions: &Permissions,
) -> Option<RefusedRead> {
    let refusal = permissions.refusal()?;
    Some(RefusedRead {
        subscription: subscription.map(str::to_owned),
        resource: resource.to_string(),
        namespaces: namespaces.clone(),
        is_denied: matches!(refusal, ReadRefusal::Denied(_)),
        why: refusal.text().to_owned(),
    })
}
