//! Callers of the secure address: each is known by its certificate or its bearer token, and does what the API server lets
//! it do.
//!
//! Invariant 42: the secure address answers no caller with data that the API server would not let it read. A revoked
//! role is obeyed within 10 s, and a revoked token within 20 s: the API server itself remembers tokens for 10 s. The end of
//! a client certificate is obeyed at once.

mod access;
mod recent;
mod reviews;

use super::answers::message;
use super::client_certificate::ClientCertificate;
use super::exposure::is_probe;
use super::places::Peer;
use super::server::ServerState;
use super::shares::{Share, Shares};
use crate::metrics::RefusedCallers;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use informant_apimachinery::{Status, reason};
use informant_apiserver::check_site;
use informant_apiserver::status_response;
use informant_runtime::AccessAnswer;
use k8s_openapi::api::authentication::v1::UserInfo;
use parking_lot::Mutex;
use recent::{CallerAnswer, QuestionHash, RecentAnswers};
use reviews::{ApiServerReviews, CallerReviews};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Semaphore;
use tracing::warn;

pub(crate) use access::Access;

/// Questions about strangers at once, and as many about known callers: so strangers delay no known caller.
const REVIEWS_MAX: usize = 8;
/// Questions of one peer for tokens that were no user's before, those that wait included.
const TOKENS_OF_PEER_MAX: usize = 32;
/// Requests of one user for all its rights on a plugin. Each asks one question after the other, so others find a turn.
const RIGHTS_OF_USER_MAX: usize = 4;
/// No path of an object is as long, and questions for rights carry the path.
const PATH_BYTES_MAX: usize = 2 << 10;
/// How long a request waits for an answer of the API server, its turn included.
const REVIEW_DEADLINE: Duration = Duration::from_secs(10);
/// From one line about a question without an answer to the next.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// A service account's token has about 1 KiB, one with many groups some KiB.
const TOKEN_BYTES_MAX: usize = 16 << 10;

/// The sender of a request.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    /// A process of this machine. It reads what the host reads.
    Local,
    /// A user of the cluster.
    User(Arc<UserInfo>),
}

impl Caller {
    /// The user's name. None on this machine.
    pub(super) fn user(&self) -> Option<Arc<str>> {
        match self {
            Self::Local => None,
            Self::User(user) => Some(user.username.as_deref().unwrap_or_default().into()),
        }
    }
}

/// Decides on callers, with answers of the API server that are 10 s old at most.
pub(crate) struct Callers {
    reviews: Box<dyn CallerReviews>,
    /// Answers to the tokens of callers that were users before.
    users: Mutex<RecentAnswers<Option<Arc<UserInfo>>>>,
    /// Answers to new tokens. They push out no known caller.
    strangers: Mutex<RecentAnswers<Option<Arc<UserInfo>>>>,
    rights: Mutex<RecentAnswers<AccessAnswer>>,
    turns_of_strangers: Semaphore,
    turns_of_known: Semaphore,
    /// The questions for new tokens under way.
    questions: Shares<Peer>,
    /// The requests for all rights on a plugin under way, by user.
    requests_for_rights: Shares<Arc<str>>,
    /// When the log last had a question without an answer.
    logged: Mutex<Option<Instant>>,
    refused: Arc<RefusedCallers>,
}

impl Callers {
    pub(super) fn new(client: kube::Client, refused: Arc<RefusedCallers>) -> Self {
        Self::with(Box::new(ApiServerReviews { client }), refused)
    }

    fn with(reviews: Box<dyn CallerReviews>, refused: Arc<RefusedCallers>) -> Self {
        Self {
            reviews,
            users: Mutex::default(),
            strangers: Mutex::default(),
            rights: Mutex::default(),
            turns_of_strangers: Semaphore::new(REVIEWS_MAX),
            turns_of_known: Semaphore::new(REVIEWS_MAX),
            questions: Shares::new(TOKENS_OF_PEER_MAX, usize::MAX),
            requests_for_rights: Shares::new(RIGHTS_OF_USER_MAX, usize::MAX),
            logged: Mutex::default(),
            refused,
        }
    }

    /// The caller that the connection's certificate names, or else the caller whose token a request has. An API server
    /// takes them in the same order.
    ///
    /// # Errors
    /// 401 without either of them, 403 for a request in another user's name, 429 if this peer has too many new tokens, 503
    /// if the API server does not answer.
    pub(super) async fn authenticate(
        &self,
        headers: &HeaderMap,
        peer: Peer,
        certificate: Option<&ClientCertificate>,
    ) -> Result<Caller, Status> {
        if headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
            let text = "impersonation is not supported here; send the request to the Kubernetes API server";
            self.refused.forbidden.fetch_add(1, Ordering::Relaxed);
            return Err(Status::failure(403, reason::FORBIDDEN, text));
        }
        let now = SystemTime::now();
        let user = match (certificate.and_then(|known| known.user(now)), bearer(headers)) {
            (Some(user), _) => Some(user),
            (None, Some(token)) => self.user_of(token, peer).await?,
            (None, None) => None,
        };
        user.map(Caller::User).ok_or_else(|| {
            self.refused.unauthenticated.fetch_add(1, Ordering::Relaxed);
            let text = "the request has neither a client certificate nor a valid bearer token; send a token of the \
                        cluster in the header Authorization (kubectl create token prints one of a service account)";
            Status::failure(401, reason::UNAUTHORIZED, text)
        })
    }

    /// The user of a token.
    async fn user_of(&self, token: &str, peer: Peer) -> Result<Option<Arc<UserInfo>>, Status> {
        let hash = Sha256::digest(token).into();
        let ask = async || Ok(self.reviews.user_of(token.to_owned()).await?.map(Arc::new));
        if self.users.lock().knows(&hash) {
            return self.ask(&self.users, &self.turns_of_known, hash, ask).await;
        }
        if let Some(user) = self.strangers.lock().get(&hash, Instant::now()) {
            return Ok(user);
        }
        let _question = self.questions.take(&peer).ok_or_else(|| {
            self.refused.too_many_tokens.fetch_add(1, Ordering::Relaxed);
            let text = "this peer has sent too many new tokens at once; ask again in a second";
            Status::too_many_requests(text, 1)
        })?;
        let user = self.ask(&self.strangers, &self.turns_of_strangers, hash, ask).await?;
        if user.is_some() {
            self.strangers.lock().copy_to(&hash, &mut self.users.lock());
        }
        Ok(user)
    }

    /// Whether a caller has the right to this.
    ///
    /// # Errors
    /// 403 if it does not, 503 if the API server does not answer.
    pub(super) async fn authorize(
        &self,
        caller: &Caller,
        access: Access<'_>,
    ) -> Result<(), Status> {
        match self.denied(caller, access).await? {
            None => Ok(()),
            Some(text) => {
                self.refused.forbidden.fetch_add(1, Ordering::Relaxed);
                Err(Status::failure(403, reason::FORBIDDEN, text))
            }
        }
    }

    /// Why a caller has no right to this, for a caller that only asks. None: it has the right. A caller on this machine has every
    /// right that the API server decides on.
    ///
    /// # Errors
    /// 503 if the API server does not answer.
    pub(super) async fn denied(
        &self,
        caller: &Caller,
        access: Access<'_>,
    ) -> Result<Option<String>, Status> {
        let user = match caller {
            Caller::Local => return Ok(None),
            Caller::User(user) => user,
        };
        let question = access.question(user);
        let text = serde_json::to_vec(&question).map_err(Status::internal_error)?;
        let hash = Sha256::digest(text).into();
        let ask = async || self.reviews.may(question).await;
        let answer = self.ask(&self.rights, &self.turns_of_known, hash, ask).await?;
        Ok(match answer {
            AccessAnswer::Allowed => None,
            AccessAnswer::Denied(why) => Some(access.refusal(user, &why)),
        })
    }

    /// The place of a request for all rights on a plugin. A caller on this machine needs none.
    ///
    /// # Errors
    /// 429 if the user has as many already.
    pub(super) fn place_for_rights(
        &self,
        caller: &Caller,
    ) -> Result<Option<Share<Arc<str>>>, Status> {
        let Some(user) = caller.user() else { return Ok(None) };
        let place = self.requests_for_rights.take(&user).ok_or_else(|| {
            let text = "this user has too many requests for rights on plugins at once; ask again in a second";
            Status::too_many_requests(text, 1)
        })?;
        Ok(Some(place))
    }

    /// The log has the cause of an unanswered question, once a minute at most: callers may be strangers.
    fn log_unanswered(&self, error: &str) {
        let now = Instant::now();
        let mut logged = self.logged.lock();
        if logged.is_none_or(|at| now.saturating_duration_since(at) >= LOG_INTERVAL) {
            warn!("the API server cannot be asked about callers of the secure address: {error}");
            *logged = Some(now);
        }
    }

    /// The recent answer to a question, or the API server's.
    async fn ask<T: CallerAnswer>(
        &self,
        recent: &Mutex<RecentAnswers<T>>,
        turns: &Semaphore,
        hash: QuestionHash,
        ask: impl AsyncFnOnce() -> Result<T, String>,
    ) -> Result<T, Status> {
        if let Some(answer) = recent.lock().get(&hash, Instant::now()) {
            return Ok(answer);
        }
        let answer = async {
            let _turn = turns.acquire().await;
            // Another request may have asked the same in the meantime.
            let asked = Instant::now();
            if let Some(answer) = recent.lock().get(&hash, asked) {
                return Ok(answer);
            }
            let answer = ask().await?;
            recent.lock().insert(hash, answer.clone(), asked);
            Ok(answer)
        };
        let answer = tokio::time::timeout(REVIEW_DEADLINE, answer).await;
        let seconds = REVIEW_DEADLINE.as_secs();
        answer.unwrap_or_else(|_| Err(format!("no answer within {seconds} s"))).map_err(
            |error: String| {
                self.refused.unknown.fetch_add(1, Ordering::Relaxed);
                self.log_unanswered(&error);
                Status::service_unavailable("the API server cannot be asked about the caller")
            },
        )
    }
}

/// The token of a request. None without one, or with several.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let is_token = !token.is_empty() && token.len() <= TOKEN_BYTES_MAX;
    (scheme.eq_ignore_ascii_case("bearer") && is_token).then_some(token)
}

/// Lets a request of a known caller through. Probes are for everybody, and then say no more than `ok`.
pub(super) async fn authenticated(
    State(shared): State<Arc<ServerState>>,
    mut request: Request,
    next: Next,
) -> Response {
    if is_probe(request.uri().path()) {
        let answer = next.run(request).await;
        let text = if answer.status().is_success() { "ok\n" } else { "failed\n" };
        return (answer.status(), text).into_response();
    }
    if request.uri().path().len() > PATH_BYTES_MAX {
        let text = format!("the path is longer than {PATH_BYTES_MAX} bytes");
        return message(StatusCode::URI_TOO_LONG, text);
    }
    // A browser sends a certificate also where another site's page asks.
    if let Err(reason) = check_site(request.headers()) {
        return message(StatusCode::FORBIDDEN, reason);
    }
    let Some(peer) = request.extensions().get::<Peer>().copied() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let certificate = request.extensions().get::<ClientCertificate>();
    match shared.callers.authenticate(request.headers(), peer, certificate).await {
        Ok(caller) => _ = request.extensions_mut().insert(caller),
        Err(status) => return refusal(&status),
    }
    next.run(request).await
}

/// The path as the API server would ask about it: decoded, as the router decodes the names in it.
pub(super) fn asked_path(path: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(path).decode_utf8_lossy()
}

/// Lets a request for a page of the host through if its caller may read that path.
pub(super) async fn with_right_to_path(
    State(shared): State<Arc<ServerState>>,
    request: Request,
    next: Next,
) -> Response {
    let path = asked_path(request.uri().path());
    if !is_probe(&path) {
        let Some(caller) = request.extensions().get::<Caller>() else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        if let Err(status) = shared.callers.authorize(caller, Access::Path(&path)).await {
            return refusal(&status);
        }
    }
    next.run(request).await
}

/// The answer to a request that is refused for its caller.
pub(super) fn refusal(status: &Status) -> Response {
    let mut response = status_response(status);
    let (name, value) = match response.status() {
        StatusCode::UNAUTHORIZED => (header::WWW_AUTHENTICATE, "Bearer"),
        StatusCode::SERVICE_UNAVAILABLE => (header::RETRY_AFTER, "1"),
        _ => return response,
    };
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}

#[cfg(test)]
mod tests;
