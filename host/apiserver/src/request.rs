//! One read of a resource, and what a server decides for all of them.

use std::sync::Arc;
use std::time::Duration;

use informant_apimachinery::Status;
use tokio_util::sync::CancellationToken;

use crate::aside::aside;
use crate::selection::check_fields;
use crate::{ListOptions, QueryParameters, Representation, ResourceInfo, ResourcePath, Selection};

/// What a server decides for all its requests.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// How often a watch that wants bookmarks gets one. A real server sends them about once a minute.
    pub bookmark_interval: Duration,
    /// No watch lasts longer, whatever its client asks for.
    pub watch_timeout_max: Duration,
    /// Ends every watch when cancelled.
    pub stop: CancellationToken,
    /// The thread that makes the pieces of long answers.
    pub pieces: PiecesOn,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            bookmark_interval: Duration::from_secs(60),
            // A week: the sum with the present stays representable.
            watch_timeout_max: Duration::from_secs(7 * 24 * 3600),
            stop: CancellationToken::new(),
            pieces: PiecesOn::Here,
        }
    }
}

/// An answer of so many bytes of objects is a long one.
pub(crate) const LARGE_BYTES: usize = 64 * 1024;

/// The thread that makes the pieces of long answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PiecesOn {
    /// The thread of the request, after its other tasks: a server that has nothing else to do, or a simulation, whose only thread
    /// makes it deterministic.
    Here,
    /// Another thread, one piece at a time of all requests ([`aside`]).
    Aside,
}

impl PiecesOn {
    /// Makes an answer, or its first piece: a small one at once.
    pub(crate) async fn answer<T: Send + 'static>(
        self,
        is_large: bool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Status> {
        let made = if is_large { self.make(work).await } else { Some(work()) };
        made.ok_or_else(|| Status::service_unavailable("the answer could not be made; try again"))
    }

    /// Makes a piece. None: the server stops.
    pub(crate) async fn make<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        match self {
            Self::Here => {
                tokio::task::yield_now().await;
                Some(work())
            }
            Self::Aside => aside(work).await,
        }
    }
}

/// A read of a resource that is known to be served.
pub(crate) struct Request<'a> {
    pub resource: Arc<ResourceInfo>,
    pub path: &'a ResourcePath,
    pub query: QueryParameters,
    pub representation: Representation,
    pub options: &'a ServeOptions,
}

impl Request<'_> {
    pub fn list_options(&self) -> Result<ListOptions, Status> {
        ListOptions::parse(&self.query)
    }

    pub fn selection(&self, options: &ListOptions) -> Result<Selection, Status> {
        let selection = Selection {
            namespace: self.path.namespace.clone(),
            labels: options.labels.clone(),
            fields: options.fields.clone(),
        };
        check_fields(&self.resource, &selection)?;
        Ok(selection)
    }
}
