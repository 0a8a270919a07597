//! `POST /plugins/{name}/...`: actions on a plugin, for callers with the right to them. The actions themselves are those of the
//! admin socket.
//!
//! Invariant 43: over HTTP acts only a caller that sends the host's token on loopback, or that may `post` the action's path on
//! the secure address. No request acts that another site's page can make.

use super::action_operations;
use super::answers::message;
use super::callers::{Access, Caller, refusal};
use super::client_certificate::ClientCertificate;
use super::operations::{self, ServedOperation};
use super::permission::{forged, without_token};
use super::places::Peer;
use super::server::ServerState;
use crate::actions::{ActionListener, PluginAction, Requester, named};
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
    let served = |action: PluginAction| {
        let handler = async move |State(shared): State<Arc<ServerState>>,
                                  Extension(caller): Extension<Caller>,
                                  Extension(peer): Extension<Peer>,
                                  Path(name): Path<String>,
                                  request: Request| {
            act(action, &shared, &caller, peer, &name, request).await
        };
        action_operations::of(action).by(post(handler))
    };
    let table = PluginAction::ALL.into_iter().map(served);
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
    let by = match permitted(shared, caller, peer, action, &plugin, &head).await {
        Ok(by) => by,
        Err(response) => return *response,
    };
    // The token, the certificate or the right may go while the body comes.
    let path = action.path_of(&plugin);
    let still_may = async || {
        if let Caller::User(_) = caller {
            let certificate = head.extensions.get::<ClientCertificate>();
            shared.callers.authenticate(&head.headers, peer, certificate).await?;
        }
        Ok(shared.callers.authorize(caller, Access::Action(&path)).await?)
    };
    match shared.actions.carry_out(action, plugin, body, by, still_may).await {
        Ok(text) => Json(json!({ "msg": text })).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

/// The sender of the request, if it may ask for the action. Invariant 43.
async fn permitted(
    shared: &ServerState,
    caller: &Caller,
    peer: Peer,
    action: PluginAction,
    plugin: &PluginName,
    head: &request::Parts,
) -> Result<Requester, Box<Response>> {
    let scheme = match caller {
        Caller::Local => "http",
        Caller::User(_) => "https",
    };
    if let Some(text) = forged(scheme, &head.uri, &head.headers) {
        shared.sources.refused.callers.forbidden.fetch_add(1, Ordering::Relaxed);
        return Err(Box::new(message(StatusCode::FORBIDDEN, text)));
    }
    let from = Some(peer.to_string());
    match caller {
        Caller::Local => match without_token(&head.headers, &shared.token) {
            None => {
                let name = "admin token".to_owned();
                Ok(Requester { name, listener: ActionListener::Loopback, from })
            }
            Some(text) => Err(Box::new(shared.unauthenticated(text))),
        },
        Caller::User(user) => {
            let path = action.path_of(plugin);
            match shared.callers.authorize(caller, Access::Action(&path)).await {
                Ok(()) => {
                    let name = user.username.clone().unwrap_or_default();
                    Ok(Requester { name, listener: ActionListener::Secure, from })
                }
                Err(status) => Err(Box::new(refusal(&status))),
            }
        }
    }
}

impl ServerState {
    /// The answer to a caller on loopback without the token.
    pub(super) fn unauthenticated(&self, text: &str) -> Response {
        self.sources.refused.callers.unauthenticated.fetch_add(1, Ordering::Relaxed);
        refusal(&Status::failure(401, reason::UNAUTHORIZED, text))
    }
}

/// The actions on a plugin that the caller may ask for, and why it may not ask for others. Every known caller may ask this. The
/// API server is asked for plugins that are there, and one user has few such requests at once.
async fn permitted_actions(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let plugins = shared.sources.plugins.names();
    let Some(plugin) = plugins.into_iter().find(|plugin| plugin.as_str() == name) else {
        return message(StatusCode::NOT_FOUND, format!("there is no plugin {name:?}"));
    };
    let _place = match shared.callers.place_for_rights(&caller) {
        Ok(place) => place,
        Err(status) => return refusal(&status),
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
