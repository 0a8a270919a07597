//! The routes of the admin socket.

use crate::actions::{ActionListener, ActionRefusal, Actions, PluginAction, Requester, named};
use crate::host_configuration::ConfigurationStatus;
use crate::http::{SecretAccess, WhyRights, list_problems, message, respond_plugins, respond_why};
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use informant_cache::SharedInformerFactory;
use informant_runtime::{AdminError, DeadLetter, Plugins};
use serde_json::json;
use std::sync::Arc;

/// The state that every handler can use.
#[derive(Clone)]
pub(crate) struct AdminState {
    pub(crate) plugins: Plugins,
    pub(crate) informers: Arc<SharedInformerFactory>,
    pub(crate) configuration: Arc<ConfigurationStatus>,
    pub(crate) actions: Actions,
    /// The address of the dashboard, with the token that acts, or the reason why there is none.
    pub(crate) dashboard: Result<String, String>,
}

pub(super) fn router(shared: AdminState) -> Router {
    let action = |routes: Router<AdminState>, action: PluginAction| {
        let act =
            async move |State(shared): State<AdminState>, Path(name): Path<String>, body: Body| {
                act(action, &shared, &name, body).await
            };
        routes.route(&format!("/plugins/{{name}}/{}", action.path()), post(act))
    };
    let actions = PluginAction::ALL.into_iter().fold(Router::new(), action);
    actions
        .route("/plugins", get(plugins))
        .route("/ui", get(ui))
        .route("/problems", get(problems))
        .route("/why", get(why))
        .route("/plugins/{name}/dead-letters", get(dead_letters))
        .route("/plugins/{name}/dead-letters/{id}", get(dead_letter))
        .fallback(async || message(StatusCode::NOT_FOUND, "nothing is here; try /plugins"))
        .with_state(shared)
}

type Answer = Result<Response, ActionRefusal>;

async fn plugins(State(shared): State<AdminState>) -> Response {
    respond_plugins(&shared.plugins, &shared.informers).await
}

async fn problems(State(shared): State<AdminState>) -> Response {
    Json(list_problems(&shared.plugins, &shared.configuration)).into_response()
}

/// The caller is the host's own user and may also ask about Secrets. The answer does not contain their values.
async fn why(State(shared): State<AdminState>, RawQuery(query): RawQuery) -> Response {
    let (plugins, informers) = (&shared.plugins, &shared.informers);
    respond_why(
        plugins,
        informers,
        query,
        SecretAccess::Served,
        async |_| Ok(WhyRights { names_others: true, has_writes: true, shows_namespace: true }),
        async || true,
    )
    .await
}

/// The address of the dashboard, with the token that acts there.
async fn ui(State(shared): State<AdminState>) -> Answer {
    let url = shared.dashboard.map_err(|text| ActionRefusal(StatusCode::CONFLICT, text))?;
    Ok(Json(json!({ "url": url })).into_response())
}

/// The socket's file is the host's user's alone, so its caller may act.
async fn act(action: PluginAction, shared: &AdminState, name: &str, body: Body) -> Answer {
    let listener = ActionListener::AdminSocket;
    let by = Requester { name: "host user".to_owned(), listener, from: None };
    let text = shared.actions.carry_out(action, named(name)?, body, by, async || Ok(())).await?;
    Ok(Json(json!({ "msg": text })).into_response())
}

/// The letters of a plugin, after the host has written them to the state directory, if it has one that can be written.
/// So a letter that was shown also exists after a restart. For a plugin whose file is gone, the letters that the state
/// directory keeps.
async fn letters_of(shared: &AdminState, name: &str) -> Result<Vec<DeadLetter>, ActionRefusal> {
    let name = named(name)?;
    let Some(letters) = shared.plugins.dead_letters(&name, usize::MAX) else {
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
        None => {
            let text = format!("{name} has no dead letter {id}");
            Err(ActionRefusal(StatusCode::NOT_FOUND, text))
        }
    }
}
