//! `wasi:io/poll`: sleep. A pollable is a time, or always ready. The plugin's thread runs other plugins meanwhile, and
//! the call's waiting time bounds the wait.

use super::{Guest, WasiLinker, ended};
use crate::guest::call_deadline::CallDeadline;
use crate::guest::guest_state::POLLABLES_MAX;
use crate::guest::surroundings::Surroundings;
use std::time::{Duration, Instant};
use wasmtime::component::Resource;

/// A pollable that a guest holds.
pub(super) struct Pollable;

/// The answer of a host function that waits.
type WaitFuture<'a, T> = Box<dyn Future<Output = wasmtime::Result<T>> + Send + 'a>;

pub(super) fn link(place: &mut WasiLinker<'_>, function: &str) -> wasmtime::Result<bool> {
    match function {
        "poll" => place.func_wrap_async(function, poll)?,
        "[method]pollable.block" => place.func_wrap_async(function, block)?,
        "[method]pollable.ready" => place.func_wrap(
            function,
            |mut store: Guest<'_>, (pollable,): (Resource<Pollable>,)| {
                let now = store.data().surroundings.now();
                let moment = store.data_mut().wasi().pollables.moment(pollable.rep());
                Ok((!ready(&[moment], now).is_empty(),))
            },
        )?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn poll(
    mut store: Guest<'_>,
    (pollables,): (Vec<Resource<Pollable>>,),
) -> WaitFuture<'_, (Vec<u32>,)> {
    Box::new(async move {
        if pollables.is_empty() || pollables.len() > POLLABLES_MAX {
            let found = pollables.len();
            return Err(ended(&format!(
                "it waits for {found} things with one call, not for 1 to {POLLABLES_MAX}"
            )));
        }
        let own = &store.data_mut().wasi().pollables;
        let moments: Vec<_> = pollables.iter().map(|one| own.moment(one.rep())).collect();
        let (clock, surroundings) = clocks(&store);
        Ok((wait(clock, surroundings, &moments).await?,))
    })
}

fn block(mut store: Guest<'_>, (pollable,): (Resource<Pollable>,)) -> WaitFuture<'_, ()> {
    Box::new(async move {
        let moment = store.data_mut().wasi().pollables.moment(pollable.rep());
        let (clock, surroundings) = clocks(&store);
        wait(clock, surroundings, &[moment]).await.map(|_| ())
    })
}

/// Waits until at least one pollable is ready, and returns all that are.
async fn wait(
    clock: CallDeadline,
    surroundings: Surroundings,
    moments: &[Option<Instant>],
) -> wasmtime::Result<Vec<u32>> {
    loop {
        let now = surroundings.now();
        let ready = ready(moments, now);
        let Some(first) = moments.iter().flatten().min().filter(|_| ready.is_empty()) else {
            return Ok(ready);
        };
        sleep(&clock, &surroundings, first.saturating_duration_since(now)).await?;
    }
}

async fn sleep(
    clock: &CallDeadline,
    surroundings: &Surroundings,
    time: Duration,
) -> wasmtime::Result<()> {
    let slept = match surroundings.are_given() {
        true => clock.pass(time).then(|| surroundings.pass(time)),
        false => clock.wait(tokio::time::sleep(time)).await,
    };
    slept.ok_or_else(|| {
        ended(
            "it slept for longer than a call may wait (limits.waitTime; in start, stop and their like the time of the call itself)",
        )
    })
}

/// The clocks of a guest's wait.
fn clocks(store: &Guest<'_>) -> (CallDeadline, Surroundings) {
    (store.data().clock.clone(), store.data().surroundings.clone())
}

/// The indexes of the ready pollables.
fn ready(moments: &[Option<Instant>], now: Instant) -> Vec<u32> {
    let is_ready = |moment: &Option<Instant>| moment.is_none_or(|moment| moment <= now);
    let ready = moments.iter().enumerate().filter(|(_, moment)| is_ready(moment));
    ready.map(|(place, _)| place as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_is_ready_and_so_is_what_is_ready_by_itself() {
        let now = Instant::now();
        let later = now + Duration::from_nanos(1);
        assert_eq!(ready(&[Some(later), Some(now), None], now), [1, 2]);
        assert_eq!(ready(&[Some(later)], now), [0; 0]);
    }
}
