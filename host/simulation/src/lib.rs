//! Seeded, deterministic simulation of `informant-cache`: informers run against a model API server with every possible
//! fault, and an oracle checks them.
//!
//! One seed gives one run. It has a paused clock, one thread, and one source of randomness for every choice. Waiters
//! wake in the order in which they began to wait. The same seed gives the same trace: a test runs some seeds twice and
//! compares the traces; `--twice` does that with all. [`Fault`] lists the faults of the model server. The server is the embedded
//! cluster's store behind the bytes of HTTP that a real server sends. So the run includes the decoding and the
//! classification of errors.
//!
//! These invariants hold after each step. A handler gets additions only for unknown objects. It gets updates and
//! deletions only for known objects, with the old state that it knows. No object goes back to an older state, unless
//! the server was set back. Only a resync notifies an unchanged object. The state that a handler reads is at least as
//! new as its notification. No handler is called after its removal. Reads show only states that the server had, and
//! pages, gets and indexes agree with each other. No key of a work queue has two workers at once. Every queue keeps to
//! its bound.
//!
//! At rest means a stated time after the last fault. Then every store equals the server byte for byte. Every handler's
//! last notification of every object is correct, and so is the last record of every work queue's workers. Every
//! informer is synced. After the shutdown no task is left.

mod around;
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
mod narrow;
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

/// The panic of a handler that is meant to panic.
pub(crate) struct Planned;

/// Hides the panics that are part of a run; other panics are shown as usual. Affects the whole process.
pub fn hide_planned_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.payload().is::<Planned>() {
            usual(panic);
        }
    }));
}
