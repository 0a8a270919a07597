//! `wasi:io/streams` of the three standard streams. Input is at its end. Output goes to the
//! plugin's log, line by line.

use super::poll::Pollable;
use super::{Guest, WasiLinker, ended};
use crate::guest::bindings::informant::plugin::log::Level;
use crate::guest::guest_state::{GuestState, OutputLine, READY, Wasi};
use std::time::Instant;
use wasmtime::component::{ComponentType, Lower, Resource, WasmList};

/// Bytes that one call may write. Runtimes write at most 4 KiB.
pub(crate) const WRITE_BYTES_MAX: u64 = 64 << 10;

/// A stream that a guest reads from: standard input.
pub(super) struct InputStream;

/// A stream that a guest writes to: standard output or standard error.
pub(super) struct OutputStream;

/// The resource of an error; no guest ever gets one.
type Error = Resource<super::absent::Nobodys>;

const OUT: u32 = 0;
const ERR: u32 = 1;

#[derive(ComponentType, Lower)]
#[component(variant)]
enum StreamError {
    #[component(name = "last-operation-failed")]
    #[expect(dead_code, reason = "no operation fails; the contract has it all the same")]
    LastOperationFailed(Error),
    #[component(name = "closed")]
    Closed,
}

/// The answer of a stream's function.
type StreamAnswer<T> = wasmtime::Result<(Result<T, StreamError>,)>;

pub(super) fn link_standard(place: &mut WasiLinker<'_>, function: &str) -> wasmtime::Result<bool> {
    let stream = match function {
        "get-stdin" => {
            place.func_wrap(function, |_: Guest<'_>, ()| {
                Ok((Resource::<InputStream>::new_own(0),))
            })?;
            return Ok(true);
        }
        "get-stdout" => OUT,
        "get-stderr" => ERR,
        _ => return Ok(false),
    };
    place.func_wrap(function, move |_: Guest<'_>, ()| {
        Ok((Resource::<OutputStream>::new_own(stream),))
    })?;
    Ok(true)
}

pub(super) fn link(place: &mut WasiLinker<'_>, function: &str) -> wasmtime::Result<bool> {
    match function.split_once('.') {
        Some(("[method]input-stream", name)) => link_input(place, function, name),
        Some(("[method]output-stream", name)) => link_output(place, function, name),
        _ => Ok(false),
    }
}

type ReadArguments = (Resource<InputStream>, u64);

fn link_input(place: &mut WasiLinker<'_>, function: &str, name: &str) -> wasmtime::Result<bool> {
    match name {
        "read" | "blocking-read" => {
            place.func_wrap(function, |_: Guest<'_>, _: ReadArguments| closed::<Vec<u8>>())?;
        }
        "skip" | "blocking-skip" => {
            place.func_wrap(function, |_: Guest<'_>, _: ReadArguments| closed::<u64>())?;
        }
        "subscribe" => {
            place
                .func_wrap(function, |_: Guest<'_>, _: (Resource<InputStream>,)| always_ready())?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn link_output(place: &mut WasiLinker<'_>, function: &str, name: &str) -> wasmtime::Result<bool> {
    match name {
        "check-write" => {
            place.func_wrap(function, |_: Guest<'_>, _: (Resource<OutputStream>,)| {
                done(WRITE_BYTES_MAX)
            })?;
        }
        "write" | "blocking-write-and-flush" => place.func_wrap(function, write)?,
        "write-zeroes" | "blocking-write-zeroes-and-flush" => {
            place.func_wrap(function, write_zeroes)?;
        }
        // Complete lines are logged at once, and an unfinished one when the call ends.
        "flush" | "blocking-flush" => {
            place.func_wrap(function, |_: Guest<'_>, _: (Resource<OutputStream>,)| done(()))?;
        }
        "splice" | "blocking-splice" => place.func_wrap(
            function,
            |_: Guest<'_>, _: (Resource<OutputStream>, Resource<InputStream>, u64)| closed::<u64>(),
        )?,
        "subscribe" => {
            place
                .func_wrap(function, |_: Guest<'_>, _: (Resource<OutputStream>,)| always_ready())?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn closed<T>() -> StreamAnswer<T> {
    Ok((Err(StreamError::Closed),))
}

fn done<T>(value: T) -> StreamAnswer<T> {
    Ok((Ok(value),))
}

fn always_ready() -> wasmtime::Result<(Resource<Pollable>,)> {
    Ok((Resource::new_own(READY),))
}

fn check_size(bytes: u64) -> wasmtime::Result<()> {
    if bytes <= WRITE_BYTES_MAX {
        return Ok(());
    }
    Err(ended(&format!(
        "it wrote {bytes} bytes at once, at most {WRITE_BYTES_MAX} are taken, as check-write says"
    )))
}

fn write(
    mut store: Guest<'_>,
    (stream, bytes): (Resource<OutputStream>, WasmList<u8>),
) -> StreamAnswer<()> {
    check_size(bytes.len() as u64)?;
    let (stream, began) = (stream.rep(), Instant::now());
    let mut lines = std::mem::take(store.data_mut().wasi().lines(stream));
    lines.write(bytes.as_le_slice(&store), |line| store.data().say(stream, line));
    store.data_mut().wrote(stream, lines, began);
    done(())
}

fn write_zeroes(
    mut store: Guest<'_>,
    (stream, count): (Resource<OutputStream>, u64),
) -> StreamAnswer<()> {
    check_size(count)?;
    let (stream, began) = (stream.rep(), Instant::now());
    let mut lines = std::mem::take(store.data_mut().wasi().lines(stream));
    lines.write(&vec![0; count as usize], |line| store.data().say(stream, line));
    store.data_mut().wrote(stream, lines, began);
    done(())
}

impl Wasi {
    fn lines(&mut self, stream: u32) -> &mut OutputLine {
        if stream == ERR { &mut self.err } else { &mut self.out }
    }
}

impl GuestState {
    fn wrote(&mut self, stream: u32, lines: OutputLine, began: Instant) {
        *self.wasi().lines(stream) = lines;
        self.notes.host_calls += began.elapsed();
    }

    /// Logs the unfinished line at the end of a call.
    pub(crate) fn end_output(&mut self) {
        let Some(mut wasi) = self.wasi.take() else { return };
        for stream in [OUT, ERR] {
            wasi.lines(stream).end(|line| self.say(stream, line));
        }
        self.wasi = Some(wasi);
    }

    fn say(&self, stream: u32, line: &str) {
        match stream {
            ERR => self.tell(Level::Warn, line, "stream=stderr"),
            _ => self.tell(Level::Info, line, "stream=stdout"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_written_at_once_are_bounded() {
        assert!(check_size(WRITE_BYTES_MAX).is_ok());
        let error = check_size(WRITE_BYTES_MAX + 1).expect_err("one more is not").to_string();
        assert!(error.contains("it wrote 65537 bytes at once, at most 65536 are taken"), "{error}");
    }
}
