//! Facts that client-go's own tests state, shown by the public interface alone, in paused time. Which fact is
//! shown by which test, here and elsewhere, stands in `host/docs/designs/client-go-facts.md`.

mod bench;
mod handlers;
mod relists;
mod requests;
