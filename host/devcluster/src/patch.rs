//! The ways a request can change part of an object.

pub mod strategic;
