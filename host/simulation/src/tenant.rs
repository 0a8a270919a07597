//! One user of one resource's informer, and the creation of its handlers.

use crate::around::Around;
use crate::controller::Controller;
use crate::door::Door;
use crate::handler::{Mischief, Told};
use crate::manner::Manner;
use crate::slot::{HANDLERS_MAX, Hold, Slot, next};
use informant_apimachinery::GroupVersionResource;
use informant_cache::{HandlerOptions, HighWaterMark, InformerLease};
use parking_lot::Mutex;
use std::sync::Arc;

/// One user of one resource's informer.
pub(crate) struct Tenant {
    pub(crate) gvr: GroupVersionResource,
    pub(crate) door: Door,
    /// Keeps the informer running. A view does so by itself.
    pub(crate) _lease: Option<InformerLease>,
    pub(crate) handlers: Arc<Mutex<Vec<Slot>>>,
    pub(crate) controller: Option<Controller>,
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

/// An action during a notification: every second time the handler removes itself, otherwise it adds another one.
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
