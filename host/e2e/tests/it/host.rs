//! Facts about the program as its users meet it: `informant run` beside a cluster.

mod admin;
mod bad_input;
mod bandwidth;
pub mod bench;
mod burst;
mod check;
mod configuration;
mod election;
mod embedded;
mod golden;
mod http;
mod image;
mod lifecycle;
mod misbehaving;
mod namespaces;
mod outbound;
mod projects;
mod readme;
mod recordings;
mod reload;
mod sdk;
mod service_account;
mod shipped;
mod state;
mod storm;
mod waiting;
mod writes;
