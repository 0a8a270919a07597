//! Panics on a pod named `trap…`; as `trap-in-<export>` in that export instead: `describe`, `start`, `stop`, `snapshot`,
//! `restore`.
//!
//! The host must log the panic's text and where it was, end this instance only, deliver the event again to a new one (its
//! attempt is 2), give up on it after the last attempt, and go on with the events of other objects. A version that traps before
//! it runs must not replace one that does.

test_guests::sin_in_any_export!(Trap, "trap", |what: String| panic!("asked to trap by {what}"));
