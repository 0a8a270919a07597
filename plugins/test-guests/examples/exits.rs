//! Ends its process on a pod named `exits…`, as far as a plugin has one; as `exits-in-<export>` in that export instead.
//!
//! The host must end the instance as if it had trapped, say that it called `exit` and with what, and go on.

use test_guests::system::wasi::cli::exit::exit;

test_guests::sin_in_any_export!(Exits, "exits", |_: String| {
    exit(Err(()));
    unreachable!("nothing comes after that")
});
