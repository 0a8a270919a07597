//! `GET /plugins/{name}/logs`: the last log lines of a plugin, and more as they come.
//!
//! A reader has the place of a watch, and a place in the plugin's ring. It has no queue, so a slow one misses lines. One
//! that takes no bytes for some seconds is cut off, as on every connection. The thread of the reader's address makes its events.

use super::answers::message;
use super::callers::Caller;
use super::event_stream::{accepts_events, last_event_id, refused, stream_of};
use super::operations::{self, ServedOperation};
use super::parameters::{Given, Parameter, Values, flag, unknown};
use super::secret_access::SecretAccess;
use super::server::ServerState;
use super::why::named_plugin;
use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::stream;
use informant_apiserver::WatchLife;
use informant_runtime::{LogPiece, LogReader};
use std::convert::Infallible;
use std::sync::Arc;
use std::vec;

/// Bytes of a query: two short parameters.
const QUERY_BYTES_MAX: usize = 256;
/// More lines than a ring can have.
const LINES_MAX: u64 = 1 << 20;

/// The parameters. The names are those of the log of a Pod in the Kubernetes API.
pub(super) static PARAMETERS: [Parameter; 2] = [
    Parameter::new("follow", Values::Flag, "Lines as they come, as server-sent events."),
    Parameter::new("tailLines", Values::Whole(0, LINES_MAX), "Only so many of the kept lines."),
];

/// The wish of a request.
#[derive(Debug, PartialEq, Eq)]
struct LogQuery {
    follows: bool,
    lines_max: Option<usize>,
    /// The id of the last line that the client has.
    after: Option<u64>,
}

pub(super) fn operation() -> ServedOperation {
    operations::LOGS.by(get(logs))
}

async fn logs(
    State(shared): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    Extension(secrets): Extension<SecretAccess>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let query = match log_query(query.as_deref().unwrap_or_default(), &headers) {
        Ok(query) => query,
        Err(text) => return message(StatusCode::BAD_REQUEST, text),
    };
    let plugins = &shared.sources.plugins;
    let name = match named_plugin(&name, &plugins.names()) {
        Ok(name) => name,
        Err((status, text)) => return message(status, text),
    };
    if secrets == SecretAccess::Refused && plugins.log_may_hold_secrets(&name) {
        let text = format!(
            "the plugin {name} may use Secrets, and its log may have their values; only the host's user \
             reads it: informant tail {name}"
        );
        return message(StatusCode::FORBIDDEN, text);
    }
    let Some(mut reader) = plugins.log(&name, query.after, query.lines_max) else {
        return message(StatusCode::NOT_FOUND, format!("there is no plugin {name}"));
    };
    if !query.follows {
        return list(&mut reader);
    }
    match shared.kubernetes.watch_place(&caller) {
        Ok(place) => {
            let life = shared.kubernetes.watch_life();
            // A client that gets no line before the end of the stream continues here, too.
            let begins = Event::default().id(reader.place().to_string());
            let lines = LogEvents { reader, secrets, ready: vec![begins].into_iter(), life };
            stream_of(stream::unfold((lines, place), |(mut lines, place)| async move {
                let event = lines.next().await?;
                Some((Ok::<_, Infallible>(event), (lines, place)))
            }))
        }
        Err(status) => refused(&status),
    }
}

fn log_query(query: &str, headers: &HeaderMap) -> Result<LogQuery, String> {
    let bounds = (QUERY_BYTES_MAX, PARAMETERS.len() + 1);
    let mut unlisted = |key: &str, _| Err(unknown(&PARAMETERS, key));
    let mut given = Given::read(&PARAMETERS, Given::default(), query, bounds, &mut unlisted)?;
    let follows = match given.take("follow") {
        Some(text) => {
            flag(&text).ok_or_else(|| format!("follow is {text:?}; write true or false"))?
        }
        None => accepts_events(headers),
    };
    let lines_max = given.whole(&PARAMETERS, "tailLines")?;
    // Only a stream has ids.
    let after = if follows { last_event_id(headers)? } else { None };
    Ok(LogQuery { follows, lines_max, after })
}

/// All lines in the ring now, as an array.
fn list(reader: &mut LogReader) -> Response {
    let mut text = "[".to_owned();
    loop {
        let piece = reader.take();
        if piece == LogPiece::default() {
            break;
        }
        for line in &piece.lines {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&line.json);
        }
    }
    text.push(']');
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// The lines of one reader as events.
struct LogEvents {
    reader: LogReader,
    secrets: SecretAccess,
    ready: vec::IntoIter<Event>,
    life: WatchLife,
}

impl LogEvents {
    /// None: the plugin is gone, the stream's time is over, or the plugin was granted Secrets meanwhile.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.next() {
                return Some(event);
            }
            let piece = tokio::select! {
                biased;
                _ = self.life.ended() => return None,
                piece = self.reader.next() => piece?,
            };
            if self.secrets == SecretAccess::Refused && self.reader.may_hold_secrets() {
                return None;
            }
            self.ready = events(&piece).into_iter();
        }
    }
}

fn events(piece: &LogPiece) -> Vec<Event> {
    let missed = piece.misses_lines.then(|| Event::default().event("missed").data("{}"));
    let lines = piece.lines.iter();
    let lines =
        lines.map(|line| Event::default().event("line").id(line.id.to_string()).data(&line.json));
    missed.into_iter().chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, header: Option<(&'static str, &str)>, expect: Result<&str, &str>) {
        let mut headers = HeaderMap::new();
        headers.extend(header.map(|(name, value)| {
            (header::HeaderName::from_static(name), value.parse().expect("a value"))
        }));
        let found = log_query(query, &headers).map(|LogQuery { follows, lines_max, after }| {
            format!("{follows} {lines_max:?} {after:?}")
        });
        match (&found, expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{query}"),
            (Err(text), Err(expect)) => assert!(text.contains(expect), "{query}: {text}"),
            _ => panic!("{query}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn a_request_asks_for_the_kept_lines_or_for_all_that_come() {
        check("", None, Ok("false None None"));
        check("tailLines=20", None, Ok("false Some(20) None"));
        check("follow=true&tailLines=0", None, Ok("true Some(0) None"));
        check("", Some(("accept", "text/event-stream")), Ok("true None None"));
        check("follow=true", Some(("last-event-id", "7")), Ok("true None Some(7)"));
        check("", Some(("last-event-id", "7")), Ok("false None None"));
    }

    #[test]
    fn a_mistake_in_a_request_is_named() {
        check("tailLines=-1", None, Err("a number from 0 to"));
        check("follow=soon", None, Err("write true or false"));
        check("tail=3", None, Err("did you mean tailLines=VALUE?"));
        check("follow=true", Some(("last-event-id", "x")), Err("Last-Event-ID is \"x\""));
    }
}
