//! Actions on plugins of the running host, as the admin socket and the HTTP API take them. Both carry them out, word
//! them and log them here. The callers decide beforehand on the right to act.

mod record;
mod under_way;

use crate::election::Candidate;
use crate::paced_turns::PacedTurns;
use axum::body::{Body, to_bytes};
use axum::http::StatusCode;
use informant_apimachinery::Status;
use informant_runtime::{AdminError, PluginAdmin, PluginName, Selection, one_line};
use record::Record;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use under_way::{ActionPlace, UNDER_WAY_MAX, UnderWay};

pub(crate) use record::{ActionListener, Requester};

/// Letters that one request may name. All letters of a plugin need no names.
pub(crate) const LETTERS_MAX: usize = 1_000;
/// So many numbers of 20 digits, with the signs between.
const BODY_BYTES_MAX: usize = 32 << 10;
/// A body is sent together with its head.
const BODY_DEADLINE: Duration = Duration::from_secs(10);
/// Bytes of the complaint about a body. It may quote the body.
const COMPLAINT_BYTES_MAX: usize = 256;
/// The forms of a body that chooses dead letters.
const LETTERS_FORM: &str = r#"{"all": true} or {"ids": [1, 2]}"#;
/// The forms of a body that chooses a schedule.
const SCHEDULE_FORM: &str = r#"{"schedule": "NAME"} or {}"#;

/// From one action of a user to the next, the number at once after a pause, and how long a request waits for its turn.
const ACTION_INTERVAL: Duration = Duration::from_millis(50);
const ACTIONS_AT_ONCE: u32 = 100;
const TURN_WAIT_MAX: Duration = Duration::from_secs(10);

/// Users share so many queues of turns.
const USER_QUEUES: usize = 16;

/// The turns of actions over HTTP. A hash of the user's name that no user can foresee chooses the queue, as in KEP-1040:
/// users who ask without end make few others wait, and nothing is kept for a user.
struct UserTurns {
    hasher: RandomState,
    queues: [PacedTurns; USER_QUEUES],
}

impl UserTurns {
    fn new() -> Self {
        let queue = |_| PacedTurns::new(ACTION_INTERVAL, ACTIONS_AT_ONCE, TURN_WAIT_MAX);
        Self { hasher: RandomState::new(), queues: std::array::from_fn(queue) }
    }

    fn of(&self, user: &str) -> &PacedTurns {
        &self.queues[self.hasher.hash_one(user) as usize % USER_QUEUES]
    }
}

/// An action on one plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PluginAction {
    Pause,
    Resume,
    Reload,
    Rollback,
    Fire,
    Redrive,
    Purge,
}

impl PluginAction {
    pub(crate) const ALL: [Self; 7] = [
        Self::Pause,
        Self::Resume,
        Self::Reload,
        Self::Rollback,
        Self::Fire,
        Self::Redrive,
        Self::Purge,
    ];

    /// The end of its path, after the plugin's name.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Reload => "reload",
            Self::Rollback => "rollback",
            Self::Fire => "fire",
            Self::Redrive => "dead-letters/redrive",
            Self::Purge => "dead-letters/purge",
        }
    }

    /// The whole path for a plugin.
    pub(crate) fn path_of(self, plugin: &PluginName) -> String {
        format!("/plugins/{plugin}/{}", self.path())
    }

    /// Its name in the log.
    const fn word(self) -> &'static str {
        match self {
            Self::Redrive => "redrive of dead letters",
            Self::Purge => "purge of dead letters",
            _ => self.path(),
        }
    }
}

/// A choice of dead letters: `{"all": true}` or `{"ids": [1, 2]}`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Letters {
    #[serde(default)]
    pub(crate) all: bool,
    #[serde(default)]
    pub(crate) ids: Vec<u64>,
}

/// A schedule: `{"schedule": "daily"}`, or `{}` for the only one.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OneSchedule {
    #[serde(default)]
    pub(crate) schedule: Option<String>,
}

/// An action with the choice in the body of its request.
enum ChosenAction {
    Pause,
    Resume,
    Reload,
    Rollback,
    Fire(Option<String>),
    Redrive(Selection),
    Purge(Selection),
}

impl Letters {
    fn selection(self) -> Result<Selection, ActionRefusal> {
        match (self.all, self.ids.len()) {
            (true, 0) => Ok(Selection::All),
            (false, 1..=LETTERS_MAX) => Ok(Selection::Ids(self.ids.into_iter().collect())),
            (false, count) if count > LETTERS_MAX => Err(ActionRefusal::bad(format!(
                "{count} ids are more than {LETTERS_MAX}; name fewer, or all letters"
            ))),
            _ => Err(ActionRefusal::bad("either all or some ids are wanted".to_owned())),
        }
    }
}

/// The reason for which an action was not carried out.
#[derive(Debug)]
pub(crate) struct ActionRefusal(pub(crate) StatusCode, pub(crate) String);

impl ActionRefusal {
    fn bad(text: String) -> Self {
        Self(StatusCode::BAD_REQUEST, text)
    }
}

impl From<Status> for ActionRefusal {
    fn from(status: Status) -> Self {
        let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::FORBIDDEN);
        Self(code, status.message)
    }
}

impl From<AdminError> for ActionRefusal {
    fn from(error: AdminError) -> Self {
        let code = match error {
            AdminError::NoSuchPlugin(_) => StatusCode::NOT_FOUND,
            AdminError::Refused(_) => StatusCode::CONFLICT,
            AdminError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self(code, error.to_string())
    }
}

/// The plugin that a path names.
pub(crate) fn named(name: &str) -> Result<PluginName, ActionRefusal> {
    name.parse().map_err(|error| ActionRefusal::bad(format!("{error}")))
}

/// Carries out actions. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Actions {
    admin: PluginAdmin,
    /// None: this host is in no election.
    candidate: Option<Candidate>,
    under_way: UnderWay,
    turns: Arc<UserTurns>,
}

impl Actions {
    pub(crate) fn new(admin: PluginAdmin, candidate: Option<Candidate>) -> Self {
        Self { admin, candidate, under_way: UnderWay::new(), turns: Arc::new(UserTurns::new()) }
    }

    /// Carries out an action for somebody with the right to it, and returns the host's words about it. Each call is a
    /// line of the log, so a request over HTTP waits for its turn first. Once the request is read, and the sender
    /// `still_may` ask for it, the action goes on without its caller.
    pub(crate) async fn carry_out(
        &self,
        action: PluginAction,
        plugin: PluginName,
        body: Body,
        by: Requester,
        still_may: impl AsyncFnOnce() -> Result<(), ActionRefusal>,
    ) -> Result<String, ActionRefusal> {
        let is_over_http = by.listener != ActionListener::AdminSocket;
        if is_over_http && !self.turns.of(&by.name).turn().await {
            let text = "too many actions are asked for at once; ask again in a second";
            return Err(ActionRefusal(StatusCode::TOO_MANY_REQUESTS, text.to_owned()));
        }
        let mut record = Record::new(action, plugin, by);
        let checked = match self.check(&mut record, body).await {
            Ok(checked) => still_may().await.map(|()| checked),
            Err(refusal) => Err(refusal),
        };
        let (place, chosen) = match checked {
            Ok(checked) => checked,
            Err(refusal) => {
                record.refused(&refusal);
                return Err(refusal);
            }
        };
        record.began();
        let (admin, (tell, told)) = (self.admin.clone(), oneshot::channel());
        self.under_way.begin(place, async move {
            let result = ask(&admin, &record.plugin, chosen).await;
            record.ended(&result);
            // The line comes before the answer.
            drop(record);
            // The caller may be gone.
            let _ = tell.send(result);
        });
        told.await.unwrap_or_else(|_| Err(AdminError::Stopping.into()))
    }

    /// Waits for the results of actions that began.
    pub(crate) async fn ended(&self) {
        self.under_way.ended().await;
    }

    /// The place and the action of a request that this host can carry out.
    async fn check(
        &self,
        record: &mut Record,
        body: Body,
    ) -> Result<(ActionPlace, ChosenAction), ActionRefusal> {
        let is_over_http = record.by.listener != ActionListener::AdminSocket;
        let elsewhere = self.candidate.as_ref().and_then(Candidate::elsewhere);
        if let Some(elsewhere) = elsewhere.filter(|_| is_over_http) {
            let text = format!(
                "this host is on standby, and acts on no plugin over HTTP: {elsewhere}; ask the host that leads"
            );
            return Err(ActionRefusal(StatusCode::CONFLICT, text));
        }
        let chosen = match record.action {
            PluginAction::Pause => ChosenAction::Pause,
            PluginAction::Resume => ChosenAction::Resume,
            PluginAction::Reload => ChosenAction::Reload,
            PluginAction::Rollback => ChosenAction::Rollback,
            PluginAction::Fire => {
                let one: OneSchedule = read(body, SCHEDULE_FORM).await?;
                ChosenAction::Fire(one.schedule)
            }
            PluginAction::Redrive => ChosenAction::Redrive(selected(record, body).await?),
            PluginAction::Purge => ChosenAction::Purge(selected(record, body).await?),
        };
        let place = self.under_way.place().ok_or_else(|| {
            let text = format!("{UNDER_WAY_MAX} actions are under way; ask again later");
            ActionRefusal(StatusCode::TOO_MANY_REQUESTS, text)
        })?;
        Ok((place, chosen))
    }
}

async fn ask(
    admin: &PluginAdmin,
    plugin: &PluginName,
    chosen: ChosenAction,
) -> Result<String, ActionRefusal> {
    Ok(match chosen {
        ChosenAction::Pause => admin.pause(plugin).await,
        ChosenAction::Resume => admin.resume(plugin).await,
        ChosenAction::Reload => admin.reload(plugin).await,
        ChosenAction::Rollback => admin.rollback(plugin).await,
        ChosenAction::Fire(schedule) => admin.fire(plugin, schedule).await,
        ChosenAction::Redrive(selection) => admin.redrive(plugin, selection).await,
        ChosenAction::Purge(selection) => admin.purge(plugin, selection).await,
    }?)
}

/// The letters that a request chooses, which its line of the log has too.
async fn selected(record: &mut Record, body: Body) -> Result<Selection, ActionRefusal> {
    let letters: Letters = read(body, LETTERS_FORM).await?;
    record.letters = Some(shown(&letters));
    letters.selection()
}

/// Reads the body of a request, which has one of these forms.
async fn read<T: DeserializeOwned>(body: Body, forms: &str) -> Result<T, ActionRefusal> {
    let body = tokio::time::timeout(BODY_DEADLINE, to_bytes(body, BODY_BYTES_MAX)).await;
    let Ok(body) = body else {
        let text = format!("no body came within {} s", BODY_DEADLINE.as_secs());
        return Err(ActionRefusal(StatusCode::REQUEST_TIMEOUT, text));
    };
    let body = body.map_err(|_| {
        let text = format!("the body does not end, or has more than {BODY_BYTES_MAX} bytes");
        ActionRefusal(StatusCode::PAYLOAD_TOO_LARGE, text)
    })?;
    serde_json::from_slice(&body).map_err(|error| {
        let complaint = error.to_string();
        let complaint = one_line(&complaint, COMPLAINT_BYTES_MAX);
        ActionRefusal::bad(format!("the body is not {forms}: {complaint}"))
    })
}

/// The letters of a request, for the log.
fn shown(letters: &Letters) -> String {
    if letters.all {
        return "all".to_owned();
    }
    let ids: Vec<String> = letters.ids.iter().map(u64::to_string).collect();
    ids.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(body: &str, expect: Result<Selection, &str>) {
        let read = read(Body::from(body.to_owned()), LETTERS_FORM).await;
        let found = read.and_then(Letters::selection);
        match (&found, &expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{body:.80}"),
            (Err(ActionRefusal(_, text)), Err(expect)) => {
                assert!(text.contains(expect), "{body:.80}: {text}");
            }
            _ => panic!("{body:.80}: {found:?}, expected {expect:?}"),
        }
    }

    #[tokio::test]
    async fn letters_are_all_or_some() {
        check(r#"{"all": true}"#, Ok(Selection::All)).await;
        check(r#"{"ids": [2, 1]}"#, Ok(Selection::Ids([1, 2].into()))).await;
        for neither in ["{}", r#"{"all": true, "ids": [1]}"#, r#"{"all": false}"#, r#"{"ids": []}"#]
        {
            check(neither, Err("either all or some ids are wanted")).await;
        }
        for other in ["", "all=true", r#"{"ids": ["1"]}"#, r#"{"id": 1}"#, r#"{"ids": [-1]}"#] {
            check(other, Err("the body is not {\"all\": true}")).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn actions_have_turns_and_too_many_are_refused() {
        let (turns, begun) = (UserTurns::new(), tokio::time::Instant::now());
        let act = async || (turns.of("user").turn().await, begun.elapsed());
        let acted = futures::future::join_all((0..1_000).map(|_| act())).await;
        let done = |until: Duration| acted.iter().filter(|it| it.0 && it.1 <= until).count();
        assert_eq!(done(Duration::ZERO), 100);
        assert_eq!(done(Duration::from_secs(1)), 120);
        assert_eq!(done(TURN_WAIT_MAX), 299, "the others are refused");
        let others = async |number| turns.of(&format!("user-{number}")).turn().await;
        let others = futures::future::join_all((0..100).map(others)).await;
        let refused = others.iter().filter(|is_turn| !**is_turn).count();
        assert!(refused < 50, "{refused} of 100 other users share the queue");
    }

    #[tokio::test]
    async fn a_request_names_a_bounded_number_of_letters() {
        let ids = |count: usize| format!("{{\"ids\": {:?}}}", vec![u64::MAX; count]);
        check(&ids(LETTERS_MAX), Ok(Selection::Ids([u64::MAX].into()))).await;
        check(&ids(LETTERS_MAX + 1), Err("1001 ids are more than 1000")).await;
        check(&ids(10 * LETTERS_MAX), Err("has more than 32768 bytes")).await;
    }

    #[tokio::test]
    async fn an_answer_quotes_little_of_a_wrong_body() {
        let body = format!(r#"{{"{}": 1}}"#, "x".repeat(20_000));
        let ActionRefusal(code, text) =
            read::<Letters>(Body::from(body), LETTERS_FORM).await.expect_err("it is wrong");
        assert_eq!(code.as_u16(), 400);
        assert!(text.len() < 400 && text.contains("unknown field"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_not_waited_for() {
        let body = Body::from_stream(futures::stream::pending::<std::io::Result<Vec<u8>>>());
        let ActionRefusal(code, text) =
            read::<Letters>(body, LETTERS_FORM).await.expect_err("it never comes");
        assert_eq!((code.as_u16(), text.as_str()), (408, "no body came within 10 s"));
    }

    #[test]
    fn a_path_is_that_of_the_plugin() {
        let plugin = "a.b_c-d".parse().expect("a name");
        assert_eq!(PluginAction::Purge.path_of(&plugin), "/plugins/a.b_c-d/dead-letters/purge");
    }
}
