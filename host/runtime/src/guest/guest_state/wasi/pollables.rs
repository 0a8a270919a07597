//! The times that a guest waits for, by number.

use std::time::Instant;

/// The most times that an instance may wait for. Runtimes have one for each sleep under way, and wait for all with one
/// call.
pub(crate) const POLLABLES_MAX: usize = 1_000;

/// The number of a pollable that is always ready, such as a standard stream. All guests share it; it takes no room.
pub(crate) const READY: u32 = 0;

/// The guest's times, by their numbers minus one.
#[derive(Debug, Default)]
pub(crate) struct Pollables {
    moments: Vec<Option<Instant>>,
    free: Vec<u32>,
}

impl Pollables {
    pub(crate) fn add(&mut self, moment: Instant) -> wasmtime::Result<u32> {
        if let Some(number) = self.free.pop() {
            self.moments[number as usize - 1] = Some(moment);
            return Ok(number);
        }
        if self.moments.len() >= POLLABLES_MAX {
            return Err(wasmtime::Error::msg(format!(
                "it has {POLLABLES_MAX} moments to wait for, and wants one more; it is to drop those that it has waited for"
            )));
        }
        self.moments.push(Some(moment));
        Ok(self.moments.len() as u32)
    }

    pub(crate) fn remove(&mut self, number: u32) {
        let index = (number as usize).wrapping_sub(1);
        if self.moments.get_mut(index).is_some_and(|moment| moment.take().is_some()) {
            self.free.push(number);
        }
    }

    /// The time of a number. `None` if the pollable is always ready.
    pub(crate) fn moment(&self, number: u32) -> Option<Instant> {
        *self.moments.get((number as usize).wrapping_sub(1))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_to_wait_for_are_bounded() {
        let (mut pollables, now) = (Pollables::default(), Instant::now());
        for number in 1..=POLLABLES_MAX as u32 {
            assert_eq!(pollables.add(now).expect("there is room"), number);
        }
        let error = pollables.add(now).expect_err("there is none").to_string();
        assert!(error.contains("it has 1000 moments to wait for"), "{error}");
        pollables.remove(7);
        pollables.remove(7);
        pollables.remove(READY);
        pollables.remove(u32::MAX);
        assert_eq!(pollables.add(now).expect("there is room again"), 7);
        assert!(pollables.add(now).is_err(), "for one");
    }
}
