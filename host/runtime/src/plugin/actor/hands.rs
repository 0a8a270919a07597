//! The abilities with which a shard's actor waits for work.

use super::{Running, Together};
use crate::delivery::mailboxes::{Hands, Reconciles};
use std::time::Instant;

impl Running {
    /// The abilities of a shard's actor; `None` before a version runs. `together`: of all shards.
    pub(super) fn hands(&self, shard: usize, together: &Together) -> Option<Hands> {
        let (has_instance, reconciles, from) = match self {
            Self::Nothing => return None,
            Self::Lost { at, .. } => (false, Reconciles::Never, Some(*at)),
            Self::Alive { version, instance } => {
                // Invariant 21.
                let reconciles = match instance.works_on_keys() {
                    false => Reconciles::Never,
                    true if version.reads.are_synced() => Reconciles::Now,
                    true => Reconciles::Later,
                };
                (true, reconciles, None)
            }
        };
        let filters_of = match self {
            Self::Alive { version, .. } if !together.remembers() => Some(version.load),
            _ => None,
        };
        Some(Hands { has_instance, reconciles, fires: shard == 0, from, filters_of })
    }

    /// The same, restricted by the guest's log budget.
    pub(super) fn hands_in_debt(
        &mut self,
        shard: usize,
        together: &Together,
        now: impl FnOnce() -> Instant,
    ) -> Option<Hands> {
        let hands = self.hands(shard, together)?;
        let Self::Alive { instance, .. } = self else { return Some(hands) };
        let log_budget = &instance.state().log_budget;
        if log_budget.is_full() {
            return Some(hands);
        }
        let now = now();
        let debt = log_budget.debt(now);
        Some(Hands { from: (!debt.is_zero()).then(|| now + debt), ..hands })
    }
}
