//! One permission to read, shared by its readers, which look at it in every read, and by the
//! reviews, which set it.

use super::reviews::{AccessVerdict, ReadRefusal, unknown};
use crate::contract::descriptor::Descriptor;
use crate::outside::service_account::ServiceAccount;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// The permission to read one resource, in one namespace or in all. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Permission(Arc<PermissionState>);

#[derive(Debug)]
struct PermissionState {
    /// The result of `verdict`, without a lock.
    is_allowed: AtomicBool,
    /// Whether a review has ended, also without an answer.
    is_answered: CancellationToken,
    verdict: Mutex<AccessVerdict>,
}

/// The permissions of one subscription, or of one of a descriptor's `reads`: all are needed. Empty: no review is
/// needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Permissions(Arc<[Permission]>);

/// The permissions for all reads of a version.
#[derive(Clone, Debug, Default)]
pub(crate) struct VersionPermissions {
    /// The account of the plugin; `None`: no reviews.
    pub(crate) account: Option<ServiceAccount>,
    /// In the descriptor's order.
    pub(crate) subscriptions: Vec<Permissions>,
    /// In the descriptor's order.
    pub(crate) reads: Vec<Permissions>,
}

impl Permission {
    pub(super) fn new() -> Self {
        Self(Arc::new(PermissionState {
            is_allowed: AtomicBool::new(false),
            is_answered: CancellationToken::new(),
            verdict: Mutex::new(unknown()),
        }))
    }

    /// Whether a reader has the permission, beside the owner.
    pub(super) fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Sets the verdict. Returns whether it has changed.
    pub(super) fn set(&self, verdict: &AccessVerdict) -> bool {
        let mut known = self.0.verdict.lock();
        let has_changed = *known != *verdict;
        if has_changed {
            *known = verdict.clone();
            self.0.is_allowed.store(verdict.is_ok(), Ordering::Release);
            // A waiter reads the permission next.
            self.0.is_answered.cancel();
        }
        has_changed
    }

    fn is_allowed(&self) -> bool {
        self.0.is_allowed.load(Ordering::Acquire)
    }

    fn refusal(&self) -> Option<ReadRefusal> {
        self.0.verdict.lock().clone().err()
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<T: IntoIterator<Item = Permission>>(permissions: T) -> Self {
        Self(permissions.into_iter().collect())
    }
}

impl Permissions {
    pub(crate) fn allow(&self) -> bool {
        self.0.iter().all(Permission::is_allowed)
    }

    /// The reason of a refusal; `None` if the read is allowed.
    pub(crate) fn refusal(&self) -> Option<ReadRefusal> {
        if self.allow() {
            return None;
        }
        let refusals = || self.0.iter().filter_map(Permission::refusal);
        let denied = refusals().find(|refusal| matches!(refusal, ReadRefusal::Denied(_)));
        denied.or_else(|| refusals().next())
    }
}

#[cfg(test)]
impl Permissions {
    /// Denied permissions, with the reason `refused`.
    pub(crate) fn refused() -> Self {
        let permission = Permission::new();
        permission.set(&Err(ReadRefusal::Denied("refused".to_owned())));
        [permission].into_iter().collect()
    }
}

impl VersionPermissions {
    /// All reads, without reviews.
    pub(crate) fn everything(descriptor: &Descriptor) -> Self {
        Self {
            account: None,
            subscriptions: vec![Permissions::default(); descriptor.subscriptions.len()],
            reads: vec![Permissions::default(); descriptor.reads.len()],
        }
    }

    /// Waits until each permission has an answer, or the reason why there is none. The owner makes the reviews
    /// meanwhile.
    pub(crate) async fn answered(&self) {
        let all = self.subscriptions.iter().chain(&self.reads);
        for permission in all.flat_map(|permissions| permissions.0.iter()) {
            permission.0.is_answered.cancelled().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Wake, Waker};

    /// Reads the permission when the answer is announced.
    struct Reader {
        permission: Permission,
        was_allowed: AtomicBool,
    }

    impl Wake for Reader {
        fn wake(self: Arc<Self>) {
            self.was_allowed.store(self.permission.is_allowed(), Ordering::Relaxed);
        }
    }

    #[test]
    fn an_answer_is_stored_before_it_is_announced() {
        let permission = Permission::new();
        let was_allowed = AtomicBool::new(false);
        let reader = Arc::new(Reader { permission: permission.clone(), was_allowed });
        let waker = Waker::from(reader.clone());
        let mut answered = Box::pin(permission.0.is_answered.cancelled());
        assert!(answered.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(permission.set(&Ok(())));
        assert!(reader.was_allowed.load(Ordering::Relaxed));
    }
}
