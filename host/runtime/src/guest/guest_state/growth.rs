//! The growth of an instance's memories and tables: checked by the [`Limiter`](super::Limiter). An instance that has
//! grown large may have to move to another thread before it fills its memory.

use super::GuestState;
use crate::pace::SMALL_MEMORY_MAX;
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
        if self.is_large_and_alarmed() {
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
    /// Notes a large instance once. Returns whether the call must give way now.
    fn is_large_and_alarmed(&mut self) -> bool {
        if self.large.is_some() || self.limiter.memory_bytes() <= SMALL_MEMORY_MAX {
            return false;
        }
        let (large, must_move) = self.clock.grew_large(Instant::now());
        self.large = Some(large);
        must_move
    }
}
