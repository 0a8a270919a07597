//! What is agreed on before a plugin runs: what its file may be made of, what it asks for (the descriptor), what it is given (the configuration), and
//! within which limits.

pub(crate) mod component;
pub mod configuration;
pub(crate) mod coverage;
pub(crate) mod descriptor;
pub(crate) mod filter;
pub(crate) mod limits;
pub(crate) mod schedule;
pub mod selectors;
pub(crate) mod unknown_key;
