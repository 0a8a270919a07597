//! The path from an informer to a call of a guest: subscriptions, the queues of events, keys and
//! schedules, the waits of retries, and the payload of an event.

pub(crate) mod breaker;
pub(crate) mod key_queue;
pub(crate) mod mailbox;
pub(crate) mod mailboxes;
pub(crate) mod namespaces;
pub(crate) mod not_now;
pub(crate) mod payload;
pub(crate) mod plugin_queue;
pub(crate) mod reevaluation;
pub(crate) mod retry_waits;
pub(crate) mod sieve;
pub(crate) mod subscription;
pub(crate) mod sync_calls;
pub(crate) mod timers;
pub(crate) mod view;
