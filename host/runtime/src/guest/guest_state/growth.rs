//! The growth of an instance's memories and tables: checked by the [`Limiter`](super::Limiter). An instance that has
//! grown large may have to move to another thread before it fills its memory.

use super::GuestState;
use crate::pace::SMALL_MEMORY_MAX;
use std::pin::Pin;
use std::time::Instant;
use wasmtime::{ResourceLimiter as _, ResourceLimiterAsync, Result};

/// The answer to a growth. Wasmtime declares it with the macro `async_trait`, which has this form.
type Answer<'a> = Pin<Box<dyn Future<Output = Result<bool>> + Send + 'a>>;

impl ResourceLimiterAsync for GuestState {
    fn memory_growing<'state, 'answer>(
        &'state mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Answer<'answer>
    where
        'state: 'answer,
        Self: 'answer,
    {
        let grown = self.limiter.memory_growing(current, desired, maximum);
        let must_move = grown.is_ok() && self.is_large_and_alarmed();
        let clock = self.clock.clone();
        Box::pin(async move {
            if must_move {
                clock.give_way().await;
            }
            grown
        })
    }

    fn table_growing<'state, 'answer>(
        &'state mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Answer<'answer>
    where
        'state: 'answer,
        Self: 'answer,
    {
        Box::pin(std::future::ready(self.limiter.table_growing(current, desired, maximum)))
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
