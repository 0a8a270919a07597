//! `wasi:clocks`: the time, and instants to wait for. The monotonic clock is the instance's own and
//! shows nothing of the machine's.

use super::poll::Pollable;
use super::{Guest, WasiLinker};
use crate::guest::guest_state::Wasi;
use std::time::{Duration, Instant, SystemTime};
use wasmtime::component::{ComponentType, Lower, Resource};

/// Longer than any call lasts; longer waits are cut to this.
const FAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Both clocks show nanoseconds.
const RESOLUTION: Duration = Duration::from_nanos(1);

/// The first value of the monotonic clock: runtimes take zero for a clock that does not work.
const CLOCK_BEGINS: Duration = Duration::from_secs(1);

#[derive(ComponentType, Lower)]
#[component(record)]
struct Datetime {
    seconds: u64,
    nanoseconds: u32,
}

impl From<Duration> for Datetime {
    fn from(time: Duration) -> Self {
        Self { seconds: time.as_secs(), nanoseconds: time.subsec_nanos() }
    }
}

pub(super) fn link_monotonic(place: &mut WasiLinker<'_>, function: &str) -> wasmtime::Result<bool> {
    match function {
        "now" => place.func_wrap(function, |mut store: Guest<'_>, ()| {
            let now = store.data().surroundings.now();
            Ok((nanoseconds(store.data_mut().wasi().shows(now)),))
        })?,
        "resolution" => {
            place.func_wrap(function, |_: Guest<'_>, ()| Ok((nanoseconds(RESOLUTION),)))?;
        }
        "subscribe-instant" => {
            place.func_wrap(function, |mut store: Guest<'_>, (at,): (u64,)| {
                let (now, at) = (store.data().surroundings.now(), Duration::from_nanos(at));
                let wasi = store.data_mut().wasi();
                let until = at.saturating_sub(wasi.shows(now));
                Ok((wasi.subscribe(now, until)?,))
            })?;
        }
        "subscribe-duration" => {
            place.func_wrap(function, |mut store: Guest<'_>, (time,): (u64,)| {
                let (now, until) = (store.data().surroundings.now(), Duration::from_nanos(time));
                Ok((store.data_mut().wasi().subscribe(now, until)?,))
            })?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

pub(super) fn link_wall(place: &mut WasiLinker<'_>, function: &str) -> wasmtime::Result<bool> {
    match function {
        "now" => place.func_wrap(function, |store: Guest<'_>, ()| {
            Ok((wall(store.data().surroundings.wall().into()),))
        })?,
        "resolution" => {
            place.func_wrap(function, |_: Guest<'_>, ()| Ok((Datetime::from(RESOLUTION),)))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// A clock before 1970 shows 1970.
fn wall(now: SystemTime) -> Datetime {
    now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().into()
}

/// Enough for five hundred years.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Wasi {
    /// The value of the monotonic clock now.
    fn shows(&self, now: Instant) -> Duration {
        CLOCK_BEGINS + now.saturating_duration_since(self.began)
    }

    /// A pollable for a wait of this length from now.
    fn subscribe(&mut self, now: Instant, until: Duration) -> wasmtime::Result<Resource<Pollable>> {
        Ok(Resource::new_own(self.pollables.add(now + until.min(FAR))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_begins_with_the_instance_and_never_at_zero() {
        let began = Instant::now();
        let wasi = Wasi::new(began);
        assert_eq!(wasi.shows(began), CLOCK_BEGINS);
        assert_eq!(wasi.shows(began + Duration::from_nanos(7)).as_nanos(), 1_000_000_007);
    }

    #[test]
    fn the_wall_clock_shows_the_time_since_1970() {
        let time = Duration::new(1_700_000_000, 5);
        let shown = wall(SystemTime::UNIX_EPOCH + time);
        assert_eq!((shown.seconds, shown.nanoseconds), (1_700_000_000, 5));
        assert_eq!(wall(SystemTime::UNIX_EPOCH - time).seconds, 0);
    }
}
