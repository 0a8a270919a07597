//! A guest, from its file to its calls: the engine, the compiler, the instance and the host
//! functions. Modules above this one know the plugin, and the reason of a call.

pub(crate) mod bindings;
pub(crate) mod call_deadline;
pub(crate) mod call_trace;
pub(crate) mod compiler;
pub(crate) mod engine;
pub(crate) mod guest_state;
pub(crate) mod host_functions;
pub(crate) mod instance;
pub(crate) mod instance_ends;
pub(crate) mod json_pointer_index;
pub(crate) mod load_steps;
pub(crate) mod memory_room;
pub(crate) mod reads;
pub(crate) mod surroundings;
pub(crate) mod tape;
