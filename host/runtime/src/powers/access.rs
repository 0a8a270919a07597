//! Permissions of service accounts: the reads of a plugin that acts as an account. The host asks the API server about
//! a resource and namespace before it delivers or reads their objects. It asks again while the plugin uses them.
//! `powers/access/reviews.rs` decides when to ask and reads the answers; this file asks.

mod permission;
mod reviews;

use crate::contract::descriptor::Descriptor;
use crate::counters::add_one;
use crate::outside::access_reviewer::{AccessAnswer, AccessReview, AccessReviewer};
use crate::outside::service_account::ServiceAccount;
use crate::sleep_until::until;
use hashbrown::HashMap;
use informant_apimachinery::GroupVersionResource;
pub(crate) use permission::{Permission, Permissions, VersionPermissions};
pub(crate) use reviews::{ASKS_MAX, ReadRefusal};
use reviews::{AccessQuestion, ReviewResult, Reviews};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::task::{Id, JoinSet};

/// The time for an API server's answer to a review.
const REVIEW_TIME_MAX: Duration = Duration::from_secs(10);
/// How long a version waits for the first answers about its reads; it begins without the missing ones. The most
/// possible reviews take longer; those of a few dozen plugins do not.
pub(crate) const ANSWERS_TIME_MAX: Duration = Duration::from_secs(30);
/// The most permissions of one service account: half of all, so that another account has room.
pub(crate) const ASKS_OF_ACCOUNT_MAX: usize = ASKS_MAX / 2;
/// The verbs to allow. An account with both sees all objects and all changes.
const VERBS: [&str; 2] = ["list", "watch"];

/// The numbers of reviews, by answer, and of the questions that are reviewed periodically.
#[derive(Debug, Default)]
pub struct AccessCounts {
    /// The read is allowed.
    pub allowed: AtomicU64,
    /// The read is denied.
    pub denied: AtomicU64,
    /// There was no answer.
    pub failed: AtomicU64,
    /// Questions about a resource in a namespace, or in all, that are reviewed periodically.
    pub asks: AtomicU64,
}

/// The known permissions of service accounts.
pub(crate) struct Access {
    reviewer: Arc<dyn AccessReviewer>,
    reviews: Reviews,
    /// The permissions that were handed out; unused ones are forgotten.
    permissions: BTreeMap<AccessQuestion, Permission>,
    under_way: JoinSet<ReviewResult>,
    /// The question of each review.
    asks: HashMap<Id, AccessQuestion>,
    counts: Arc<AccessCounts>,
}

impl Access {
    pub(crate) fn new(reviewer: Arc<dyn AccessReviewer>, review_every: Duration) -> Self {
        Self {
            reviewer,
            reviews: Reviews::new(review_every, now()),
            permissions: BTreeMap::new(),
            under_way: JoinSet::new(),
            asks: HashMap::new(),
            counts: Arc::default(),
        }
    }

    /// The live counters.
    pub(crate) fn counts(&self) -> Arc<AccessCounts> {
        self.counts.clone()
    }

    /// The permissions of a plugin with this descriptor and account. Without an account, everything is allowed here.
    pub(crate) fn of(
        &mut self,
        account: Option<&ServiceAccount>,
        descriptor: &Descriptor,
    ) -> VersionPermissions {
        let Some(account) = account else { return VersionPermissions::everything(descriptor) };
        let subscriptions = descriptor.subscriptions.iter();
        let reads = descriptor.reads.iter();
        VersionPermissions {
            account: Some(account.clone()),
            subscriptions: subscriptions
                .map(|it| self.permissions(account, &it.resource, &it.namespaces))
                .collect(),
            reads: reads
                .map(|it| self.permissions(account, &it.resource, &it.namespaces))
                .collect(),
        }
    }

    fn permissions(
        &mut self,
        account: &ServiceAccount,
        resource: &GroupVersionResource,
        namespaces: &BTreeSet<String>,
    ) -> Permissions {
        let everywhere = namespaces.is_empty().then_some(None);
        let scopes = everywhere.into_iter().chain(namespaces.iter().cloned().map(Some));
        let of = |namespace| {
            let (account, resource) = (account.clone(), resource.clone());
            self.permission(AccessQuestion { account, resource, namespace })
        };
        scopes.map(of).collect()
    }

    /// The permission of all readers with the same question.
    fn permission(&mut self, ask: AccessQuestion) -> Permission {
        if let Some(known) = self.permissions.get(&ask) {
            return known.clone();
        }
        self.forget_unused();
        let permission = Permission::new();
        if let Err(full) = self.begin_reviews(&ask) {
            let text = format!(
                "this host has {full} reviewed already and no more; name fewer resources and namespaces, and have it loaded again"
            );
            permission.set(&Err(ReadRefusal::Denied(text)));
            return permission;
        }
        self.permissions.insert(ask, permission.clone());
        self.counts.asks.store(self.permissions.len() as u64, Relaxed);
        permission
    }

    /// Begins the reviews of a question, or returns the permissions that leave no room for it.
    fn begin_reviews(&mut self, ask: &AccessQuestion) -> Result<(), String> {
        let account = &ask.account;
        let of_account = self.permissions.keys().filter(|known| known.account == *account).count();
        if of_account >= ASKS_OF_ACCOUNT_MAX {
            return Err(format!(
                "{ASKS_OF_ACCOUNT_MAX} permissions of the service account {account}"
            ));
        }
        match self.reviews.ask(ask.clone(), now()) {
            true => Ok(()),
            false => Err(format!("{ASKS_MAX} permissions of service accounts")),
        }
    }

    fn forget_unused(&mut self) {
        self.permissions.retain(|ask, permission| {
            let is_used = permission.is_used();
            if !is_used {
                self.reviews.forget(ask);
            }
            is_used
        });
        self.counts.asks.store(self.permissions.len() as u64, Relaxed);
    }

    /// Makes all due reviews until a permission changes. Dropping this future and calling again loses nothing.
    pub(crate) async fn changed(&mut self) {
        loop {
            self.forget_unused();
            self.reviews.lapse(now());
            if self.show() {
                return;
            }
            while let Some(ask) = self.reviews.begin(now()) {
                self.begin(ask);
            }
            let next = self.reviews.next(now());
            tokio::select! {
                Some(ended) = self.under_way.join_next_with_id() => self.settle(ended),
                () = until(next) => {}
            }
        }
    }

    fn begin(&mut self, ask: AccessQuestion) {
        let (reviewer, of) = (self.reviewer.clone(), ask.clone());
        let id = self.under_way.spawn(async move { review(&*reviewer, &of).await }).id();
        self.asks.insert(id, ask);
    }

    fn settle(&mut self, ended: Result<(Id, ReviewResult), tokio::task::JoinError>) {
        let (id, answered) = match ended {
            Ok(ended) => ended,
            Err(error) => (error.id(), Err(error.to_string())),
        };
        let Some(ask) = self.asks.remove(&id) else { return };
        add_one(match &answered {
            Ok(AccessAnswer::Allowed) => &self.counts.allowed,
            Ok(AccessAnswer::Denied(_)) => &self.counts.denied,
            Err(_) => &self.counts.failed,
        });
        self.reviews.answered(&ask, answered, now());
    }

    /// Sets all permissions. Returns whether one has changed.
    fn show(&self) -> bool {
        let mut has_changed = false;
        for (ask, permission) in &self.permissions {
            has_changed |= permission.set(self.reviews.verdict(ask));
        }
        has_changed
    }
}

/// Asks for each verb, until one is not allowed.
async fn review(reviewer: &dyn AccessReviewer, ask: &AccessQuestion) -> ReviewResult {
    for verb in VERBS {
        let AccessQuestion { account, resource, namespace } = ask.clone();
        let asked = reviewer.review(AccessReview { account, verb, resource, namespace });
        let why = match tokio::time::timeout(REVIEW_TIME_MAX, asked).await {
            Ok(Ok(AccessAnswer::Allowed)) => continue,
            Ok(Ok(AccessAnswer::Denied(why))) => why,
            Ok(Err(problem)) => return Err(problem),
            Err(_) => {
                let seconds = REVIEW_TIME_MAX.as_secs();
                return Err(format!("no answer within {seconds} s"));
            }
        };
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        return Ok(AccessAnswer::Denied(format!("{ask} may not be {}{why}", past(verb))));
    }
    Ok(AccessAnswer::Allowed)
}

fn past(verb: &str) -> &'static str {
    if verb == "list" { "listed" } else { "watched" }
}

/// The runtime's clock, which a test can stop.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests;
