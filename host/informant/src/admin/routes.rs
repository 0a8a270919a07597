//! The routes of the admin socket.

use crate::actions::{ActionListener, ActionRefusal, Actions, PluginAction, Requester, named};
use crate::host_configuration::ConfigurationStatus;
use crate::http::{
    SecretAccess, WhyRights, list_problems, message, respond_letters, respond_plugins, respond_why,
};
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
use std::time::Duration;

/// How long a list of letters waits until they are written.
const WRITTEN_WAIT: Duration = Duration::from_secs(1);
/// How long a list of a plugin without a file waits for the disk.
const KEPT_WAIT: Duration = Duration::from_secs(30);

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
    respond_plugins(&shared.plugins, &shared.informers)
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

/// Some letters of a plugin, from an id on. None: the plugin is gone.
type LettersFrom = Box<dyn FnMut(u64, usize) -> Option<Vec<DeadLetter>> + Send>;

/// The letters of a plugin, after the host has written them to the state directory, if it has one that can be written
/// and the plugin is not far above its rate. So a letter that was shown also exists after a restart. For a plugin whose
/// file is gone, the letters that the state directory keeps.
async fn letters_of(shared: &AdminState, name: &str) -> Result<LettersFrom, ActionRefusal> {
    let name = named(name)?;
    let plugins = shared.plugins.clone();
    if let Some(last) = plugins.last_dead_letter(&name) {
        let _ = tokio::time::timeout(WRITTEN_WAIT, plugins.written(&name)).await;
        return Ok(Box::new(move |from, max| {
            let mut letters = plugins.dead_letters(&name, from, max)?;
            letters.retain(|letter| letter.id <= last);
            Some(letters)
        }));
    }
    let kept = tokio::time::timeout(KEPT_WAIT, plugins.kept_dead_letters(&name)).await;
    let kept = kept.map_err(|_| {
        let text = "the plugin's last changes are still being written; try again later";
        ActionRefusal(StatusCode::SERVICE_UNAVAILABLE, text.to_owned())
    })?;
    let kept = kept.ok_or_else(|| ActionRefusal::from(AdminError::NoSuchPlugin(name)))?;
    Ok(Box::new(move |from, max| {
        let letters = kept.iter().filter(|letter| letter.id >= from);
        Some(letters.take(max).cloned().collect())
    }))
}

async fn dead_letters(State(shared): State<AdminState>, Path(name): Path<String>) -> Answer {
    let letters = letters_of(&shared, &name).await?;
    Ok(respond_letters(letters, usize::MAX))
}

async fn dead_letter(
    State(shared): State<AdminState>,
    Path((name, id)): Path<(String, u64)>,
) -> Answer {
    let mut letters = letters_of(&shared, &name).await?;
    match letters(id, 1).unwrap_or_default().first().filter(|letter| letter.id == id) {
        Some(letter) => Ok(Json(letter.to_json_with_object()).into_response()),
        None => {
            let text = format!("{name} has no dead letter {id}");
            Err(ActionRefusal(StatusCode::NOT_FOUND, text))
        }
    }
}
