//! `wasi:random`: the system's random numbers, also for the functions that allow weaker ones.

use super::{Guest, WasiLinker, ended};
use crate::guest::surroundings::Surroundings;

/// The most random bytes in one call: the host holds them in its memory first. Keys and seeds are a thousand times
/// smaller.
pub(crate) const RANDOM_BYTES_MAX: u64 = 1 << 20;

pub(super) fn link(place: &mut WasiLinker<'_>, function: &str) -> wasmtime::Result<bool> {
    match function {
        "get-random-bytes" | "get-insecure-random-bytes" => {
            place.func_wrap(function, |store: Guest<'_>, (length,): (u64,)| {
                Ok((bytes(&store.data().surroundings, length)?,))
            })?;
        }
        "get-random-u64" | "get-insecure-random-u64" => {
            place.func_wrap(function, |store: Guest<'_>, ()| {
                Ok((number(&store.data().surroundings)?,))
            })?;
        }
        "insecure-seed" => {
            place.func_wrap(function, |store: Guest<'_>, ()| {
                let surroundings = &store.data().surroundings;
                Ok(((number(surroundings)?, number(surroundings)?),))
            })?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn bytes(surroundings: &Surroundings, length: u64) -> wasmtime::Result<Vec<u8>> {
    if length > RANDOM_BYTES_MAX {
        return Err(ended(&format!(
            "it asked for {length} random bytes at once, at most {RANDOM_BYTES_MAX} are given"
        )));
    }
    let mut bytes = vec![0; length as usize];
    fill(surroundings, &mut bytes)?;
    Ok(bytes)
}

fn number(surroundings: &Surroundings) -> wasmtime::Result<u64> {
    let mut bytes = [0; 8];
    fill(surroundings, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn fill(surroundings: &Surroundings, bytes: &mut [u8]) -> wasmtime::Result<()> {
    surroundings.fill(bytes).map_err(|error| ended(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_at_once_are_bounded() {
        let system = Surroundings::default();
        let (bytes, number) = (|length| bytes(&system, length), || number(&system));
        assert_eq!(bytes(RANDOM_BYTES_MAX).expect("so many are given").len(), 1 << 20);
        let error = bytes(RANDOM_BYTES_MAX + 1).expect_err("one more is not").to_string();
        assert!(error.contains("asked for 1048577 random bytes"), "{error}");
        assert!(bytes(u64::MAX).is_err());
        assert_ne!(bytes(32).expect("some"), bytes(32).expect("others"));
        assert_ne!(number().expect("one"), number().expect("another"));
    }
}
