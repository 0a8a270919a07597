//! `GET /plugins/{name}/dead-letters`: the oldest dead letters of a plugin, without their objects. They name objects, and have the
//! plugin's words, which may have values of Secrets. On loopback they need the token of the host.

use super::answers::{busy, message};
use super::operations::{self, ServedOperation};
use super::parameters::{Given, Parameter, Values, unknown};
use super::permission::without_token;
use super::secret_access::SecretAccess;
use super::server::ServerState;
use super::why::named_plugin;
use axum::Json;
use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use informant_apiserver::aside;
use informant_runtime::DeadLetter;
use std::sync::Arc;

/// Bytes of a query: one short parameter.
const QUERY_BYTES_MAX: usize = 64;
const LETTERS_DEFAULT: usize = 100;
/// A letter takes up to 2 KiB.
const LETTERS_MAX: usize = 500;

pub(super) static PARAMETERS: [Parameter; 1] = [Parameter::new(
    "limit",
    Values::Whole(1, LETTERS_MAX as u64),
    "Only so many of the letters, the oldest first; 100 by default.",
)];

pub(super) fn operation() -> ServedOperation {
    operations::DEAD_LETTERS.by(get(dead_letters))
}

async fn dead_letters(
    State(shared): State<Arc<ServerState>>,
    Extension(secrets): Extension<SecretAccess>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    // Letters come back from the state directory, also those of a time when the plugin had a grant for Secrets. So no
    // letter is for everybody on this machine.
    if secrets == SecretAccess::Refused
        && let Some(text) = without_token(&headers, &shared.token)
    {
        return shared.unauthenticated(&format!("dead letters may have values of Secrets: {text}"));
    }
    let limit = match limit(query.as_deref().unwrap_or_default()) {
        Ok(limit) => limit,
        Err(text) => return message(StatusCode::BAD_REQUEST, text),
    };
    let plugins = &shared.sources.plugins;
    let name = match named_plugin(&name, &plugins.names()) {
        Ok(name) => name,
        Err((status, text)) => return message(status, text),
    };
    let plugins = plugins.clone();
    let answer = aside(move || match plugins.dead_letters(&name, 0, limit) {
        Some(letters) => {
            let letters: Vec<_> = letters.iter().map(DeadLetter::to_json).collect();
            Json(letters).into_response()
        }
        None => message(StatusCode::NOT_FOUND, format!("there is no plugin {name}")),
    });
    answer.await.unwrap_or_else(|| busy("the host stops"))
}

fn limit(query: &str) -> Result<usize, String> {
    let bounds = (QUERY_BYTES_MAX, PARAMETERS.len() + 1);
    let mut unlisted = |key: &str, _| Err(unknown(&PARAMETERS, key));
    let mut given = Given::read(&PARAMETERS, Given::default(), query, bounds, &mut unlisted)?;
    Ok(given.whole(&PARAMETERS, "limit")?.unwrap_or(LETTERS_DEFAULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expect: Result<usize, &str>) {
        match (limit(query), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{query}"),
            (Err(text), Err(expect)) => assert!(text.contains(expect), "{query}: {text}"),
            (found, expect) => panic!("{query}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn a_request_has_a_bounded_number_of_letters() {
        check("", Ok(100));
        check("limit=1", Ok(1));
        check("limit=500", Ok(500));
        for other in ["limit=0", "limit=501", "limit=", "limit=-1", "limit=x"] {
            check(other, Err("limit"));
        }
        check("limits=1", Err("did you mean limit=VALUE?"));
    }
}
