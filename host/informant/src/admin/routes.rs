//! The routes of the admin socket.

use crate::host_configuration::ConfigurationStatus;
use crate::http::{SecretAccess, list_problems, message, respond_plugins, respond_why};
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use informant_cache::SharedInformerFactory;
use informant_runtime::{AdminError, DeadLetter, PluginAdmin, PluginName, Plugins, Selection};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// The state that every handler can use.
#[derive(Clone)]
pub(crate) struct AdminState {
    pub(crate) plugins: Plugins,
    pub(crate) informers: Arc<SharedInformerFactory>,
    pub(crate) configuration: Arc<ConfigurationStatus>,
    pub(crate) admin: PluginAdmin,
}

/// A choice of dead letters: `{"all": true}` or `{"ids": [1, 2]}`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Letters {
    #[serde(default)]
    pub(crate) all: bool,
    #[serde(default)]
    pub(crate) ids: Vec<u64>,
}

impl Letters {
    fn selection(self) -> Result<Selection, AdminRefusal> {
        match (self.all, self.ids.is_empty()) {
            (true, true) => Ok(Selection::All),
            (false, false) => Ok(Selection::Ids(self.ids)),
            _ => Err(AdminRefusal(
                StatusCode::BAD_REQUEST,
                "either all or some ids are wanted".to_owned(),
            )),
        }
    }
}

pub(super) fn router(shared: AdminState) -> Router {
    Router::new()
        .route("/plugins", get(plugins))
        .route("/problems", get(problems))
        .route("/why", get(why))
        .route("/plugins/{name}/reload", post(reload))
        .route("/plugins/{name}/rollback", post(rollback))
        .route("/plugins/{name}/pause", post(pause))
        .route("/plugins/{name}/resume", post(resume))
        .route("/plugins/{name}/dead-letters", get(dead_letters))
        .route("/plugins/{name}/dead-letters/{id}", get(dead_letter))
        .route("/plugins/{name}/dead-letters/redrive", post(redrive))
        .route("/plugins/{name}/dead-letters/purge", post(purge))
        .fallback(async || message(StatusCode::NOT_FOUND, "nothing is here; try /plugins"))
        .with_state(shared)
}

/// Why a request was not carried out.
struct AdminRefusal(StatusCode, String);

impl IntoResponse for AdminRefusal {
    fn into_response(self) -> Response {
        message(self.0, self.1)
    }
}

impl From<AdminError> for AdminRefusal {
    fn from(error: AdminError) -> Self {
        let code = match error {
            AdminError::NoSuchPlugin(_) => StatusCode::NOT_FOUND,
            AdminError::Refused(_) => StatusCode::CONFLICT,
            AdminError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self(code, error.to_string())
    }
}

type Answer = Result<Response, AdminRefusal>;

fn named(name: &str) -> Result<PluginName, AdminRefusal> {
    name.parse().map_err(|error| AdminRefusal(StatusCode::BAD_REQUEST, format!("{error}")))
}

fn done(answer: Result<String, AdminError>) -> Answer {
    Ok(Json(json!({ "msg": answer? })).into_response())
}

async fn plugins(State(shared): State<AdminState>) -> Response {
    respond_plugins(&shared.plugins, &shared.informers).await
}

async fn problems(State(shared): State<AdminState>) -> Response {
    Json(list_problems(&shared.plugins, &shared.configuration)).into_response()
}

/// The caller is the host's own user and may also ask about Secrets. The answer does not contain their values.
async fn why(State(shared): State<AdminState>, RawQuery(query): RawQuery) -> Response {
    let (plugins, informers) = (&shared.plugins, &shared.informers);
    respond_why(plugins, informers, query, SecretAccess::Served, async |_| Ok(()), async || true)
        .await
}

async fn reload(State(shared): State<AdminState>, Path(name): Path<String>) -> Answer {
    done(shared.admin.reload(&named(&name)?).await)
}

async fn rollback(State(shared): State<AdminState>, Path(name): Path<String>) -> Answer {
    done(shared.admin.rollback(&named(&name)?).await)
}

async fn pause(State(shared): State<AdminState>, Path(name): Path<String>) -> Answer {
    done(shared.admin.pause(&named(&name)?).await)
}

async fn resume(State(shared): State<AdminState>, Path(name): Path<String>) -> Answer {
    done(shared.admin.resume(&named(&name)?).await)
}

/// The letters of a plugin, after the host has written them to the state directory, if it has one that can be written.
/// So a letter that was shown also exists after a restart. For a plugin whose file is gone, the letters that the state
/// directory keeps.
async fn letters_of(shared: &AdminState, name: &str) -> Result<Vec<DeadLetter>, AdminRefusal> {
    let name = named(name)?;
    let Some(letters) = shared.plugins.dead_letters(&name) else {
        let kept = shared.plugins.kept_dead_letters(&name).await;
        return kept.ok_or_else(|| AdminError::NoSuchPlugin(name).into());
    };
    shared.plugins.written().await;
    Ok(letters)
}

async fn dead_letters(State(shared): State<AdminState>, Path(name): Path<String>) -> Answer {
    let letters = letters_of(&shared, &name).await?;
    let letters: Vec<_> = letters.iter().map(DeadLetter::to_json).collect();
    Ok(Json(letters).into_response())
}

async fn dead_letter(
    State(shared): State<AdminState>,
    Path((name, id)): Path<(String, u64)>,
) -> Answer {
    let letters = letters_of(&shared, &name).await?;
    match letters.iter().find(|letter| letter.id == id) {
        Some(letter) => Ok(Json(letter.to_json_with_object()).into_response()),
        None => Err(AdminRefusal(StatusCode::NOT_FOUND, format!("{name} has no dead letter {id}"))),
    }
}

async fn redrive(
    State(shared): State<AdminState>,
    Path(name): Path<String>,
    Json(letters): Json<Letters>,
) -> Answer {
    done(shared.admin.redrive(&named(&name)?, letters.selection()?).await)
}

async fn purge(
    State(shared): State<AdminState>,
    Path(name): Path<String>,
    Json(letters): Json<Letters>,
) -> Answer {
    done(shared.admin.purge(&named(&name)?, letters.selection()?).await)
}
