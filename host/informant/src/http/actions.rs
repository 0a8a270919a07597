//! `POST /plugins/{name}/...`: actions on a plugin, for callers with the right to them. The actions themselves are those of the
//! admin socket.
//!
//! Invariant 43: over HTTP acts only a caller that sends the host's token on loopback, or that may `post` the action's path on
//! the secure address. No request acts that another site's page can make.

use super::answers::message;
use super::callers::{Access, Caller, refusal};
use super::operations::{self, ServedOperation};
use super::permission::{forged, without_token};
use super::places::Peer;
use super::server::ServerState;
use crate::actions::{Actor, PluginAction, named};
use axum::Json;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, StatusCode, request};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use informant_apimachinery::{Status, reason};
use informant_runtime::PluginName;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The actions, and the question which of them the caller may ask for.
pub(super) fn table() -> Vec<ServedOperation> {
    let served = |(action, operation): (PluginAction, &'static operations::Operation)| {
        let handler = async move |State(shared): State<Arc<ServerState>>,
                                  Extension(caller): Extension<Caller>,
                                  Extension(peer): Extension<Peer>,
                                  Path(name): Path<String>,
                                  request: Request| {
            act(action, &shared, &caller, peer, &name, request).await
        };
        operation.by(post(handler))
    };
    let table = PluginAction::ALL.into_iter().zip(&operations::ACTIONS).map(served);
    table.chain([operations::PERMITTED_ACTIONS.by(get(permitted_actions))]).collect()
}

async fn act(
    action: PluginAction,
    shared: &ServerState,
    caller: &Caller,
    peer: Peer,
    name: &str,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let plugin = match named(name) {
        Ok(plugin) => plugin,
        Err(refusal) => return refusal.into_response(),
    };
    let name = match permitted(shared, caller, action, &plugin, &head).await {
        Ok(name) => name,
        Err(response) => return *response,
    };
    let by = Actor { name, from: peer.to_string() };
    match shared.actions.carry_out(action, &plugin, body, &by).await {
        Ok(text) => Json(json!({ "msg": text })).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

/// The caller's name, if it may ask for the action. Invariant 43.
async fn permitted(
    shared: &ServerState,
    caller: &Caller,
    action: PluginAction,
    plugin: &PluginName,
    head: &request::Parts,
) -> Result<String, Box<Response>> {
    let refused = &shared.sources.refused.callers;
    let scheme = match caller {
        Caller::Local => "http",
        Caller::User(_) => "https",
    };
    if let Some(text) = forged(scheme, &head.uri, &head.headers) {
        refused.forbidden.fetch_add(1, Ordering::Relaxed);
        return Err(Box::new(message(StatusCode::FORBIDDEN, text)));
    }
    let refused = match caller {
        Caller::Local => match without_token(&head.headers, &shared.token) {
            None => return Ok("admin token".to_owned()),
            Some(text) => {
                refused.unauthenticated.fetch_add(1, Ordering::Relaxed);
                Status::failure(401, reason::UNAUTHORIZED, text)
            }
        },
        Caller::User(user) => {
            let path = action.path_of(plugin);
            match shared.callers.authorize(caller, Access::Action(&path)).await {
                Ok(()) => return Ok(user.username.clone().unwrap_or_default()),
                Err(status) => status,
            }
        }
    };
    Err(Box::new(refusal(&refused)))
}

/// The actions on a plugin that the caller may ask for, and why it may not ask for others. Every known caller may ask this: the
/// answer is about the caller alone, also where there is no such plugin.
async fn permitted_actions(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let plugin = match named(&name) {
        Ok(plugin) => plugin,
        Err(refusal) => return refusal.into_response(),
    };
    let (mut actions, mut reason) = (Vec::new(), None);
    for action in PluginAction::ALL {
        let path = action.path_of(&plugin);
        let denied = match caller {
            Caller::Local => without_token(&headers, &shared.token).map(str::to_owned),
            Caller::User(_) => match shared.callers.denied(&caller, Access::Action(&path)).await {
                Ok(denied) => denied,
                Err(status) => return refusal(&status),
            },
        };
        match denied {
            None => actions.push(action.path()),
            Some(text) => reason = reason.or(Some(text)),
        }
    }
    Json(json!({ "actions": actions, "reason": reason })).into_response()
}
