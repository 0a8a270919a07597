//! Facts about the Kubernetes API that clients rely on.

mod create_update_delete;
mod custom_resources;
mod discovery;
mod errors;
mod events;
mod history;
mod list;
mod namespaces;
mod patch;
mod rbac;
mod selectors;
mod subresources;
mod tables;
mod watch;
