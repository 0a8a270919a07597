//! The examples' own files.

#![allow(clippy::duplicate_mod, reason = "each example brings the module that they share")]
#![allow(dead_code, reason = "their main functions run in no test")]

#[path = "../../../../cache/examples/any_resource.rs"]
pub mod any_resource;
#[path = "../../../../cache/examples/controller.rs"]
pub mod controller;
#[path = "../../../../cache/examples/deployments_by_label.rs"]
pub mod deployments_by_label;
#[path = "../../../../cache/examples/event_printer.rs"]
pub mod event_printer;
#[path = "../../../../cache/examples/node_informer.rs"]
pub mod node_informer;
#[path = "../../../../cache/examples/pod_bandwidth_controller/main.rs"]
pub mod pod_bandwidth_controller;
