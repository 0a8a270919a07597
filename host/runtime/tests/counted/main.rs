//! What is counted, and not timed: allocations, and the bytes that are allocated at once.

mod code;
mod descriptor;
mod document;
mod queue;
