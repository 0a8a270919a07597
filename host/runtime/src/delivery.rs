//! The way from an informer to the moment at which a guest is called: what a subscription lets through, where events, keys and moments wait, how long
//! what failed waits, and what of an event is handed over.

pub(crate) mod breaker;
pub(crate) mod key_queue;
pub(crate) mod mailbox;
pub(crate) mod mailboxes;
pub(crate) mod payload;
pub(crate) mod plugin_queue;
pub(crate) mod reevaluation;
pub(crate) mod retry_waits;
pub(crate) mod subscription;
pub(crate) mod sync_calls;
pub(crate) mod timers;
pub(crate) mod view;
