//! Lists and watches of metadata alone, as `PartialObjectMetadata`.
//!
//! Such objects do not say of what kind they are. Discovery does, so that a reader gets an object of its own kind. From
//! a server that refuses the form, or does not say the kind, whole objects are requested, and cut here.

use super::body::Chunks;
use super::query::accept;
use super::{Collection, discovery};
use crate::list_watch::ListWatchError;
use crate::object::{Object, TypeJson, TypeMeta};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What a collection knows of its resource's metadata form.
#[derive(Default)]
pub(super) struct MetadataForm {
    /// The type of the objects, once discovery has said it.
    of_type: Mutex<Option<Arc<TypeJson>>>,
    /// Whether the log says that whole objects are requested.
    is_said: AtomicBool,
}

/// How much of an object is kept, after it was read.
pub(super) enum KeptOfObject {
    Whole,
    /// Of an object that says its type.
    Metadata,
    /// Of a `PartialObjectMetadata` of this type.
    MetadataOf(Arc<TypeJson>),
}

impl KeptOfObject {
    pub(super) fn of(&self, object: Object) -> Object {
        match self {
            Self::Whole => object,
            Self::Metadata => object.metadata_only(),
            Self::MetadataOf(of_type) => object.metadata_of(of_type),
        }
    }
}

impl Collection {
    /// The body of a list or watch, and what to keep of its objects.
    pub(super) async fn objects(
        &self,
        uri: String,
        list: bool,
    ) -> Result<(Chunks, KeptOfObject), ListWatchError> {
        let whole = || self.send(uri.clone(), accept(false, list));
        if !self.part.metadata_only {
            return Ok((whole().await?, KeptOfObject::Whole));
        }
        let why = match self.of_type().await {
            Ok(of_type) => match self.send(uri.clone(), accept(true, list)).await {
                // 406, among others: the request may be good in another form.
                Err(ListWatchError::BadRequest { message }) => message,
                answered => return Ok((answered?, KeptOfObject::MetadataOf(of_type))),
            },
            Err(why) => why,
        };
        let body = whole().await?;
        if !self.metadata.is_said.swap(true, Relaxed) {
            let resource = &self.resource;
            tracing::warn!(%resource, why, "the API server does not send metadata alone; whole objects are requested and cut");
        }
        Ok((body, KeptOfObject::Metadata))
    }

    /// The type of the objects, or why discovery does not say it.
    async fn of_type(&self) -> Result<Arc<TypeJson>, String> {
        let known = self.metadata.of_type.lock().clone();
        if let Some(known) = known {
            return Ok(known);
        }
        match discovery::kind(self).await {
            Ok(Some(kind)) => {
                let api_version = self.resource.api_version();
                let of_type = Arc::new(TypeJson::from(&TypeMeta { api_version, kind }));
                *self.metadata.of_type.lock() = Some(of_type.clone());
                Ok(of_type)
            }
            Ok(None) => Err("discovery does not name the resource".to_owned()),
            Err(error) => Err(format!("discovery failed: {error}")),
        }
    }
}
