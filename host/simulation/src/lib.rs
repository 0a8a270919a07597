//! Seeded, deterministic simulation of `informant-cache`: informers against a model API server, with
//! everything going wrong that can, and an oracle that looks on.
//!
//! One seed gives one run: a paused clock, one thread, every choice from one source of randomness, waiters woken in
//! the order in which they began to wait. The same seed gives the same trace: a test runs each seed twice and compares
//! them (`--twice`). The model server ([`Fault`] says what it does) is the embedded cluster's store behind the same
//! bytes of HTTP that a real server sends, so decoding and the sorting of errors take part.
//!
//! After each step: a handler is told of additions only of what it does not know, of updates and deletions only of what
//! it knows, with the old state that it knows; no object goes back to an older state, but where the server was set back;
//! nothing unchanged is told, but by a resync; what a handler reads is at least as new as what it is told; nobody is called after a removal;
//! reads show only what the server had, and pages, gets and indexes agree with each other; no key of a work queue is
//! worked on twice at once; every queue keeps to its bound.
//! At rest, a stated time after the last fault: every store equals the server byte for byte, every handler's last word on
//! every object is the truth, so is what the workers of every work queue found last, every informer is synced, and after the shutdown no task is left.

mod clients;
mod controller;
mod door;
mod faults;
mod handler;
mod history;
mod journal;
mod manner;
mod many;
mod mutation;
mod one_step;
mod reads;
mod run;
mod server;
mod signal;
mod slot;
mod tenant;
mod writes;

pub use faults::{Fault, FaultCounts};
pub use journal::Violation;
pub use many::{Many, Plan, Until, describe, run_many};
pub use mutation::Mutation;
pub use run::{Options, Outcome, run};

/// What a handler that is told to panic panics with.
pub(crate) struct Planned;

/// Keeps panics that are part of a run off the screen; others are shown as usual. For the whole process.
pub fn hide_planned_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.payload().is::<Planned>() {
            usual(panic);
        }
    }));
}
