//! Which places of the code a run came through, told by the compiler's SanitizerCoverage counters.
//!
//! A crate that was compiled by way of `rustc-with-coverage` has one byte for each edge of its control flow,
//! counts there, and announces the bytes before `main`. Without it there are none, and every run looks alike.

#![allow(unsafe_code, reason = "the counters are the compiler's: a C symbol and two pointers")]

use std::sync::Mutex;

/// The counters of one object file.
struct Region {
    start: *mut u8,
    length: usize,
}

// SAFETY: the bytes are statics of the program; only `Coverage` reads and clears them, one target at a time.
unsafe impl Send for Region {}

static REGIONS: Mutex<Vec<Region>> = Mutex::new(Vec::new());

/// Called by the constructor of every instrumented object file, which the linker merges into few.
///
/// # Safety
/// `start..stop` is a static array of bytes that the program counts in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    let length = stop as usize - start as usize;
    let mut regions = REGIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if length > 0 && !regions.iter().any(|region| region.start == start) {
        regions.push(Region { start, length });
    }
}

/// What all runs of one target came through so far.
pub(crate) struct Coverage {
    /// For each counter a set of how often it was passed, one bit for each class of [`class`].
    seen: Vec<u8>,
}

impl Coverage {
    pub(crate) fn new() -> Self {
        let mut length = 0;
        each_region(|counters| length += counters.len());
        Self { seen: vec![0; length] }
    }

    /// How many counters there are; none in a build without coverage.
    pub(crate) fn counters(&self) -> usize {
        self.seen.len()
    }

    /// How many counters were ever passed.
    pub(crate) fn passed(&self) -> usize {
        self.seen.iter().filter(|seen| **seen != 0).count()
    }

    /// Forgets what was counted since the last look.
    pub(crate) fn clear(&mut self) {
        each_region(|counters| counters.fill(0));
    }

    /// Whether the run since [`Coverage::clear`] came through a place, or so often through one, as none before.
    pub(crate) fn learn(&mut self) -> bool {
        let mut new = false;
        let mut rest = self.seen.as_mut_slice();
        each_region(|counters| {
            let seen =
                rest.split_off_mut(..counters.len()).expect("regions are only added at start");
            for (counters, seen) in counters.chunks(64).zip(seen.chunks_mut(64)) {
                // Most of the program stands still: whole chunks are passed over.
                if counters.iter().all(|counter| *counter == 0) {
                    continue;
                }
                for (counter, seen) in counters.iter().zip(seen) {
                    let class = class(*counter);
                    new |= *seen & class != class;
                    *seen |= class;
                }
            }
        });
        new
    }
}

/// How often, as one bit: never, 1, 2, 3, 4-7, 8-15, 16-31, 32-127, more. A loop that turns once more is
/// news only when it turns twice as often.
fn class(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..=7 => 8,
        8..=15 => 16,
        16..=31 => 32,
        32..=127 => 64,
        128.. => 128,
    }
}

fn each_region(mut visit: impl FnMut(&mut [u8])) {
    let regions = REGIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for region in regions.iter() {
        // SAFETY: a static array (see above), and the target whose code counts in it is not running now.
        visit(unsafe { std::slice::from_raw_parts_mut(region.start, region.length) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_new_once_and_again_when_it_is_passed_twice_as_often() {
        static COUNTERS: Mutex<[u8; 130]> = Mutex::new([0; 130]);
        let start = COUNTERS.lock().expect("nobody else").as_mut_ptr();
        // SAFETY: the array is static, and only this test touches it.
        unsafe { __sanitizer_cov_8bit_counters_init(start, start.wrapping_add(130)) };
        let mut coverage = Coverage::new();
        let mut run = |place: usize, times: u8| {
            coverage.clear();
            COUNTERS.lock().expect("nobody else")[place] = times;
            (coverage.learn(), coverage.passed())
        };
        assert_eq!(run(0, 0), (false, 0));
        assert_eq!(run(129, 1), (true, 1));
        assert_eq!(run(129, 1), (false, 1));
        assert_eq!(run(7, 4), (true, 2));
        assert_eq!(run(7, 7), (false, 2));
        assert_eq!(run(7, 8), (true, 2));
        assert_eq!(coverage.counters(), 130);
    }
}
