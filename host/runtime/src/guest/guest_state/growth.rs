//! The growth of an instance's memories and tables: checked by the [`Limiter`](super::Limiter). An instance that has
//! grown large gives its turn back before it fills its memory. It goes on on a thread of guests; a huge one on a thread for
//! slow plugins during an alarm.

use super::GuestState;
use crate::pace::{LargeInstance, MemorySize};
use async_trait::async_trait;
use std::time::Instant;
use wasmtime::{ResourceLimiter as _, ResourceLimiterAsync, Result};

#[async_trait]
impl ResourceLimiterAsync for GuestState {
    async fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        let grows = self.limiter.memory_growing(current, desired, maximum)?;
        if self.has_grown_large() {
            self.clock.give_way().await;
        }
        Ok(grows)
    }

    async fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        self.limiter.table_growing(current, desired, maximum)
    }

    fn instances(&self) -> usize {
        self.limiter.instances()
    }

    fn tables(&self) -> usize {
        self.limiter.tables()
    }

    fn memories(&self) -> usize {
        self.limiter.memories()
    }
}

impl GuestState {
    /// Notes an instance of another size than before. Returns whether it has grown.
    fn has_grown_large(&mut self) -> bool {
        let before = self.large.as_ref().map_or(MemorySize::Small, LargeInstance::size);
        let size = MemorySize::of(self.limiter.memory_bytes());
        let has_grown = size > before;
        if has_grown {
            self.large = Some(self.clock.grew(size, Instant::now()));
        }
        has_grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::log_budget::LogBudget;
    use crate::pace::{LARGE_MEMORY_MAX, SMALL_MEMORY_MAX};
    use futures::FutureExt as _;
    use std::sync::Arc;

    /// Invariant 2.
    #[test]
    fn an_instance_gives_its_turn_back_as_it_grows_large() {
        let limits =
            Arc::new(Limits { memory_bytes_max: 2 * LARGE_MEMORY_MAX, ..Limits::default() });
        let name = "hello".parse().expect("a name");
        let budget = LogBudget::new(&*limits, Arc::default(), Instant::now());
        let mut state = GuestState::new(name, &limits, budget, None);
        let mut gives_way =
            |from: usize, to: usize| state.memory_growing(from, to, None).now_or_never().is_none();
        assert!(!gives_way(0, SMALL_MEMORY_MAX));
        assert!(gives_way(SMALL_MEMORY_MAX, SMALL_MEMORY_MAX + 1));
        assert!(!gives_way(SMALL_MEMORY_MAX + 1, LARGE_MEMORY_MAX), "it has moved");
        assert!(gives_way(LARGE_MEMORY_MAX, LARGE_MEMORY_MAX + 1));
        assert!(!gives_way(LARGE_MEMORY_MAX + 1, 2 * LARGE_MEMORY_MAX), "it has moved");
    }
}
