//! GET of one object.

use axum::response::Response;
use http::StatusCode;
use informant_apimachinery::Status;
use jiff::Timestamp;

use crate::representation::passes;
use crate::request::{LARGE_BYTES, Request};
use crate::{ListOptions, Source, json_response, render_object};

/// Answers with the object, or its status subresource, which shows the whole object too.
pub async fn get(
    source: &dyn Source,
    request: &Request<'_>,
    name: &str,
) -> Result<Response, Status> {
    let at = ListOptions::get_at(&request.query)?;
    let namespace = request.path.namespace.as_deref();
    let object = source.get(&request.resource, namespace, name, at).await?;
    let (resource, representation) = (request.resource.clone(), request.representation);
    let is_large = object.json_len() * passes(&resource, representation) >= LARGE_BYTES;
    let render = move || render_object(&object, &resource, representation, Timestamp::now(), false);
    let json = request.options.pieces.answer(is_large, render).await?;
    Ok(json_response(StatusCode::OK, json))
}
