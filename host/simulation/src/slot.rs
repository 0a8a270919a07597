//! A handler and how it is kept: called, or pulling in its own time.

use crate::clients::Tenant;
use crate::handler::{Around, Mischief, Told};
use crate::manner::Manner;
use informant_cache::{HandlerOptions, HighWaterMark, Notifications, Registration};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Handlers of one tenant; those that are added from inside others count.
pub(crate) const HANDLERS_MAX: usize = 6;

/// One handler.
pub(crate) struct Slot {
    pub(crate) told: Arc<Told>,
    pub(crate) hold: Hold,
    /// Where its queue begins to merge.
    pub(crate) mark: HighWaterMark,
}

/// How a handler is kept.
pub(crate) enum Hold {
    Called(Registration),
    /// A task that pulls, in its own time.
    Pulling(JoinHandle<()>),
}

impl Slot {
    /// The handler goes.
    pub(crate) fn remove(self) {
        match self.hold {
            Hold::Called(registration) => registration.remove(),
            Hold::Pulling(task) => task.abort(),
        }
        self.told.removed();
    }

    pub(crate) fn has_synced(&self) -> bool {
        match &self.hold {
            Hold::Called(registration) => registration.has_synced(),
            Hold::Pulling(_) => self.told.has_synced(),
        }
    }

    /// What its queue, or its own slowness, still keeps from it.
    pub(crate) fn waits_for(&self) -> Option<String> {
        match &self.hold {
            Hold::Called(registration) => match registration.queue_stats().depth {
                0 => None,
                depth => Some(format!("{depth} wait for handler {}", self.told.number)),
            },
            Hold::Pulling(_) => self.told.lacks(),
        }
    }
}

/// How a handler is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In the informer's task.
    Inline,
    /// In a task of the informer's, through a queue.
    Queued,
    /// It pulls from its queue when it likes.
    Pulled,
}

impl Kind {
    pub(crate) fn random(random: &mut fastrand::Rng) -> Self {
        [Self::Inline, Self::Queued, Self::Pulled][random.usize(..3)]
    }
}

/// Pulls, with pauses: short ones, and now and then one that lets its queue fill.
pub(crate) async fn pull(
    mut notifications: Notifications,
    told: Arc<Told>,
    mark: HighWaterMark,
    mut random: fastrand::Rng,
) {
    while let Some(notification) = notifications.next().await {
        if told.is_removed() {
            // It is being aborted, which happens only where it waits.
            return;
        }
        told.check_depth(notifications.registration().queue_stats(), mark);
        told.pulled(&notification);
        let millis = if random.u32(..20) == 0 { 20_000 } else { 50 };
        if random.bool() {
            tokio::time::sleep(Duration::from_millis(random.u64(1..millis))).await;
        }
    }
}

/// Handlers and controllers are numbered as they are made.
pub(crate) fn next(made: &Mutex<u64>) -> u64 {
    let mut made = made.lock();
    *made += 1;
    *made
}

pub(crate) fn told(
    tenant: &Tenant,
    around: &Around,
    made: &Mutex<u64>,
    manner: &Manner,
    mischief: Option<Arc<Mischief>>,
    random: &mut fastrand::Rng,
) -> Arc<Told> {
    let number = next(made);
    let (gvr, door) = (tenant.gvr.clone(), tenant.door.clone());
    Arc::new(Told::new(number, gvr, door, around, manner, mischief, random.fork()))
}

/// From inside a notification: every other time the handler removes itself, else it adds another one.
pub(crate) fn mischief(tenant: &Tenant, around: Around, made: Arc<Mutex<u64>>) -> Arc<Mischief> {
    let handlers = Arc::downgrade(&tenant.handlers);
    let door = tenant.door.clone();
    let gvr = tenant.gvr.clone();
    Arc::new(move |number| {
        let Some(handlers) = handlers.upgrade() else { return };
        let mut handlers = handlers.lock();
        let Some(at) = handlers.iter().position(|slot| slot.told.number == number) else { return };
        if number % 2 == 0 {
            around.journal.note(format_args!("handler {number} removes itself"));
            handlers.swap_remove(at).remove();
        } else if handlers.len() < HANDLERS_MAX {
            let new = next(&made);
            around.journal.note(format_args!("handler {number} adds handler {new}"));
            let manner = Manner::new(&door);
            let random = fastrand::Rng::with_seed(new);
            let (gvr, behind) = (gvr.clone(), door.clone());
            let told = Arc::new(Told::new(new, gvr, behind, &around, &manner, None, random));
            let options = HandlerOptions::default();
            let hold = Hold::Called(door.add_inline(told.clone(), options));
            let mark = HighWaterMark { notifications: usize::MAX, bytes: usize::MAX };
            handlers.push(Slot { told, hold, mark });
        }
    })
}
