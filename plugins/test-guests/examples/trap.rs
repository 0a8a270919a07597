//! Panics on a pod named `trap…`.
//!
//! The host must log the panic's text, end this instance only, deliver the event again to a new one (its
//! attempt is 2), give up on it after the last attempt, and go on with the events of other objects.

test_guests::sin!(Trap, "trap", |event| panic!("asked to trap by {}", event.key()));
