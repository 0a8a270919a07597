//! `GET /plugins/{name}/dead-letters`: the oldest dead letters of a plugin, without their objects. They name objects, and have the
//! plugin's words, which may have values of Secrets. On loopback they need the token of the host.

use super::answers::message;
use super::json_array::respond_array;
use super::operations::{self, ServedOperation};
use super::parameters::{Given, Parameter, Values, unknown};
use super::permission::without_token;
use super::secret_access::SecretAccess;
use super::server::ServerState;
use super::why::named_plugin;
use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::get;
use informant_runtime::DeadLetter;
use serde_json::Value;
use std::io;
use std::sync::Arc;

/// Bytes of a query: one short parameter.
const QUERY_BYTES_MAX: usize = 64;
/// Letters that are looked up at once. A letter takes up to 2 KiB.
const LETTERS_AT_ONCE: usize = 64;
const LETTERS_DEFAULT: usize = 100;
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
    respond_letters(move |from, max| plugins.dead_letters(&name, from, max), limit)
}

/// A list of at most so many letters. `letters` are those from an id on, at most so many; `None` once the plugin is gone.
pub(crate) fn respond_letters(
    letters: impl FnMut(u64, usize) -> Option<Vec<DeadLetter>> + Send + 'static,
    limit: usize,
) -> Response {
    respond_array(listed(letters, |letter| (letter.id, letter.to_json())).take(limit))
}

/// All letters, some at a time: a plugin may have thousands. `shown` is the id and the text of one.
fn listed<L>(
    mut letters: impl FnMut(u64, usize) -> Option<Vec<L>>,
    shown: impl Fn(&L) -> (u64, Value),
) -> impl Iterator<Item = io::Result<Value>> {
    let mut from = 0;
    let mut some = Vec::new().into_iter();
    std::iter::from_fn(move || {
        if some.as_slice().is_empty() {
            match letters(from, LETTERS_AT_ONCE) {
                Some(next) => some = next.into_iter(),
                None => return Some(Err(io::Error::other("the plugin is gone"))),
            }
        }
        let (id, json) = shown(&some.next()?);
        from = id + 1;
        Some(Ok(json))
    })
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
    use serde_json::json;

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

    #[track_caller]
    fn check_looks(letters: u64, looks: usize) {
        let (ids, mut looked) = ((1..=letters).map(|number| 3 * number).collect::<Vec<_>>(), 0);
        let some = |from, max| {
            looked += 1;
            Some(ids.iter().copied().filter(|id| *id >= from).take(max).collect())
        };
        let listed: io::Result<Vec<Value>> = listed(some, |id| (*id, json!(id))).collect();
        assert_eq!(listed.expect("the plugin is there"), ids);
        assert_eq!(looked, looks);
    }

    #[test]
    fn letters_are_listed_some_at_a_time() {
        check_looks(0, 1);
        check_looks(1, 2);
        check_looks(64, 2);
        check_looks(65, 3);
        check_looks(200, 5);
        let mut gone = listed(|_, _| None, |id: &u64| (*id, json!(id)));
        assert!(gone.next().is_some_and(|first| first.is_err()), "no list is cut short");
    }
}
