//! Permissions of service accounts: the reads of a plugin that acts as an account. The host asks
//! the API server about each resource and namespace before it delivers or reads anything of it, and
//! again while the plugin uses it. `powers/access/reviews.rs` decides when to ask and reads the
//! answers; this file asks.

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

/// An API server that does not answer in this time has not answered.
const REVIEW_TIME_MAX: Duration = Duration::from_secs(10);
/// A version waits so long for the first answers about what it may read, and begins without those that are not there. With all that can be asked for they
/// take longer; with what a few dozen plugins ask for they do not.
pub(crate) const ANSWERS_TIME_MAX: Duration = Duration::from_secs(30);
/// What has to be allowed. Whoever may do both is told of all objects and of all changes.
const VERBS: [&str; 2] = ["list", "watch"];

/// How often the API server was asked, by what it said, and how much is asked of it again and again.
#[derive(Debug, Default)]
pub struct AccessCounts {
    /// It may be read.
    pub allowed: AtomicU64,
    /// It may not.
    pub denied: AtomicU64,
    /// Nobody could say.
    pub failed: AtomicU64,
    /// Resources in a namespace, or in all, that are reviewed again and again.
    pub asks: AtomicU64,
}

/// Who knows what service accounts may read.
pub(crate) struct Access {
    reviewer: Arc<dyn AccessReviewer>,
    reviews: Reviews,
    /// As they were handed out; those that nobody has any more are forgotten.
    permissions: BTreeMap<AccessQuestion, Permission>,
    under_way: JoinSet<ReviewResult>,
    /// Which ask each of them is for.
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

    /// What it has counted, and goes on counting.
    pub(crate) fn counts(&self) -> Arc<AccessCounts> {
        self.counts.clone()
    }

    /// What a plugin may read that asks for this and acts as that account. Everything, as far as anybody here knows, where it acts as none.
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

    /// The permission that everybody has who asks for the same.
    fn permission(&mut self, ask: AccessQuestion) -> Permission {
        if let Some(known) = self.permissions.get(&ask) {
            return known.clone();
        }
        self.forget_unused();
        let permission = Permission::new();
        if !self.reviews.ask(ask.clone(), now()) {
            let text = format!(
                "this host has {ASKS_MAX} permissions of service accounts reviewed already and no more; name fewer resources and namespaces, and have it loaded again"
            );
            permission.set(&Err(ReadRefusal::Denied(text)));
            return permission;
        }
        self.permissions.insert(ask, permission.clone());
        self.counts.asks.store(self.permissions.len() as u64, Relaxed);
        permission
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

    /// Has everything reviewed that is due, until something may be read that might not before, or the other way round. Nothing is lost when it is
    /// dropped and called again.
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

    /// Lets everybody see what is so; answers whether that is something else than before.
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

/// The runtime's time: it stands still where a test says so.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests;
