//! The read side of a Kubernetes API over a trait: an implementation of [`Source`] is served as a real
//! API server does it: discovery, get, list in pages, watch with initial events and bookmarks, selectors,
//! tables and partial metadata.
//!
//! Writes are not here: [`serve`] answers GET alone, and a server that also writes (the embedded cluster)
//! asks [`Route::parse`] first and keeps the other verbs for itself.

mod aside;
mod catalogue;
mod change;
mod change_log;
mod conversion;
mod discovery;
mod excerpt;
#[cfg(test)]
mod fuzz;
mod get;
mod list;
mod list_options;
mod local_caller;
mod negotiation;
mod object;
mod openapi;
mod partial_metadata;
mod representation;
mod request;
mod response;
mod route;
mod selection;
mod server;
mod source;
pub mod table;
mod unshown;
mod watch;
mod watch_life;

pub use aside::{WorkPlace, aside};
pub use catalogue::{Catalogue, ResourceInfo, SubresourceInfo};
pub use change::Change;
pub use change_log::{ChangeLog, Forgotten, LogBounds};
pub use conversion::{convert, stored_in};
pub use list_options::{ListOptions, QueryParameters};
pub use local_caller::{check_site, names_this_machine};
pub use negotiation::{AGGREGATED_DISCOVERY, JSON, Representation};
pub use object::{ApiObject, StoredObject};
pub use representation::render_object;
pub use request::{PiecesOn, ServeOptions};
pub use response::{json_response, status_response};
pub use route::{ResourcePath, Route};
pub use selection::{Selection, check_fields};
pub use server::serve;
pub use source::{
    ChangeFeed, InitialState, ListAt, ListPage, ListQuery, Source, Watch, WatchEnd, WatchQuery,
    WatchStart,
};
pub use unshown::{KeptUntil, NotAtHand, ObjectBatches, UnshownObjects};
pub use watch_life::WatchLife;
