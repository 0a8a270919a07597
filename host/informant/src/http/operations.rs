//! The paths that are served, as a table: the router and the description of the API are made from the same entries.

use super::dead_letters;
use super::logs;
use super::parameters::{Parameter, Values};
use super::permission::{ACTION_HEADER, ACTION_HEADER_VALUE};
use super::query;
use super::server::ServerState;
use super::why;
use axum::Router;
use axum::routing::MethodRouter;
use std::sync::Arc;

/// A path that is served with one method.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) kind: OperationKind,
    /// The path, as the router has it.
    pub(super) route: &'static str,
    /// The same as OpenAPI has it, which knows no paths of any length. None: it is `route`.
    pub(super) paths: Option<&'static [&'static str]>,
    pub(super) summary: &'static str,
    /// The use of the host's token, on loopback.
    pub(super) token: TokenUse,
    /// The parameters of its query.
    pub(super) parameters: &'static [Parameter],
    pub(super) headers: &'static [Parameter],
    /// The answers of its own. The description adds 403 and 503, which every path but a probe has.
    pub(super) answers: &'static [(u16, AnswerContent)],
}

/// The use of the host's token on loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenUse {
    Unused,
    /// The answer is another one with it.
    Optional,
    Required,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationKind {
    /// GET.
    Reads,
    /// POST: an action on a plugin, with a body of this schema.
    Acts(Option<&'static str>),
}

/// The content of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum AnswerContent {
    Nothing,
    Text,
    /// A page for browsers.
    Page,
    Metrics,
    /// Server-sent events.
    Events,
    /// JSON of this schema.
    Json(&'static str),
    /// The reason of a refusal.
    Error,
}

/// An operation with its handler.
pub(super) struct ServedOperation {
    pub(super) operation: &'static Operation,
    pub(super) handler: MethodRouter<Arc<ServerState>>,
}

impl Operation {
    const fn new(
        route: &'static str,
        summary: &'static str,
        parameters: &'static [Parameter],
        answers: &'static [(u16, AnswerContent)],
    ) -> Self {
        let (kind, token) = (OperationKind::Reads, TokenUse::Unused);
        Self { kind, route, paths: None, summary, token, parameters, headers: &[], answers }
    }

    pub(super) const fn action(
        route: &'static str,
        summary: &'static str,
        body: Option<&'static str>,
    ) -> Self {
        let kind = OperationKind::Acts(body);
        let action = Self::new(route, summary, &[], ACTION_ANSWERS).with_token(TokenUse::Required);
        Self { kind, headers: &ACTION_HEADERS, ..action }
    }

    const fn with_token(self, token: TokenUse) -> Self {
        Self { token, ..self }
    }

    const fn described_as(self, paths: &'static [&'static str]) -> Self {
        Self { paths: Some(paths), ..self }
    }

    const fn with_headers(self, headers: &'static [Parameter]) -> Self {
        Self { headers, ..self }
    }

    /// The operation with its handler.
    pub(super) fn by(&'static self, handler: MethodRouter<Arc<ServerState>>) -> ServedOperation {
        ServedOperation { operation: self, handler }
    }

    /// The method, as OpenAPI has it.
    pub(super) fn method(&self) -> &'static str {
        match self.kind {
            OperationKind::Reads => "get",
            OperationKind::Acts(_) => "post",
        }
    }

    /// Whether the path is for everybody, also on the secure address.
    pub(super) fn is_probe(&self) -> bool {
        super::exposure::is_probe(self.route)
    }
}

pub(super) fn router(served: Vec<ServedOperation>) -> Router<Arc<ServerState>> {
    let route = |routes: Router<_>, ServedOperation { operation, handler }| {
        routes.route(operation.route, handler)
    };
    served.into_iter().fold(Router::new(), route)
}

/// The variable parts of paths.
pub(super) static PATH_PARAMETERS: [Parameter; 5] = [
    Parameter::new(
        "group",
        Values::Pattern(r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$"),
        "An API group; `core` stands for the empty one.",
    )
    .required()
    .like("core"),
    Parameter::new("version", Values::Pattern("^v[0-9]([a-z0-9-]*[a-z0-9])?$"), "Its version.")
        .required()
        .like("v1"),
    Parameter::new(
        "resource",
        Values::Pattern("^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"),
        "The plural of a resource.",
    )
    .required()
    .like("pods"),
    Parameter::new("namespace", Values::Pattern(query::NAMESPACE_PATTERN), "A namespace.")
        .required()
        .like("default"),
    Parameter::new("name", Values::Text, "The name of an object, or of a plugin.")
        .required()
        .like("web"),
];

/// Probes take the word, whatever its value.
static VERBOSE: [Parameter; 1] =
    [Parameter::new("verbose", Values::Any, "Shows each check on a line.")];

static OBJECT_HEADERS: [Parameter; 2] = [
    Parameter::new("If-None-Match", Values::Any, "The tags of answers that the caller has."),
    Parameter::new(
        "Last-Event-ID",
        Values::Any,
        "With `watch`: the id of the last event that the caller has, a whole number.",
    ),
];

static LOG_HEADERS: [Parameter; 1] = [Parameter::new(
    "Last-Event-ID",
    Values::Any,
    "With `follow`: the id of the last line that the caller has, a whole number.",
)];

static ACTION_HEADERS: [Parameter; 1] = [Parameter::new(
    ACTION_HEADER,
    Values::Pattern("^true$"),
    "A page of another site cannot send it.",
)
.required()
.like(ACTION_HEADER_VALUE)];

/// The options of lists and watches of the Kubernetes API. As there, others have no effect, and every text of a flag but
/// `false` and `0` is true.
pub(super) static LIST_OPTIONS: [Parameter; 10] = [
    Parameter::new("labelSelector", Values::Any, "A label selector."),
    Parameter::new("fieldSelector", Values::Any, "A field selector."),
    Parameter::new(
        "limit",
        Values::Any,
        "A list has all objects. With `resourceVersion` alone it is a list of exactly that state.",
    ),
    Parameter::new("continue", Values::Any, "The token of an API server's `inconsistent` rest."),
    Parameter::new("resourceVersion", Values::Any, "The state that is asked for."),
    Parameter::new("resourceVersionMatch", Values::Any, "`Exact` or `NotOlderThan`."),
    Parameter::new("watch", Values::Any, "Changes instead of a list."),
    Parameter::new("allowWatchBookmarks", Values::Any, "A watch has bookmarks."),
    Parameter::new("sendInitialEvents", Values::Any, "A watch begins with all objects."),
    Parameter::new(
        "timeoutSeconds",
        Values::Whole(0, u64::MAX),
        "The life of a watch; 590 at most count.",
    ),
];

const PROBE: &[(u16, AnswerContent)] = &[(200, AnswerContent::Text), (503, AnswerContent::Text)];
const LOG_LINES: &[(u16, AnswerContent)] = &[
    (200, AnswerContent::Json("LogLines")),
    (200, AnswerContent::Events),
    (400, AnswerContent::Error),
    (404, AnswerContent::Error),
    (429, AnswerContent::Error),
];
const ACTION_ANSWERS: &[(u16, AnswerContent)] = &[
    (200, AnswerContent::Json("Message")),
    (400, AnswerContent::Error),
    (401, AnswerContent::Error),
    (404, AnswerContent::Error),
    (408, AnswerContent::Error),
    (409, AnswerContent::Error),
    (413, AnswerContent::Error),
    (429, AnswerContent::Error),
];
const OBJECTS: &[(u16, AnswerContent)] = &objects("Objects");
const DEPLOYMENTS: &[(u16, AnswerContent)] = &objects("Deployments");
const WHY_ANSWERS: &[(u16, AnswerContent)] =
    &[(200, AnswerContent::Json("Why")), (400, AnswerContent::Error), (404, AnswerContent::Error)];
/// Of the Kubernetes API.
const KUBERNETES: &[(u16, AnswerContent)] = &[
    (200, AnswerContent::Json("Object")),
    (400, AnswerContent::Error),
    (404, AnswerContent::Error),
    (406, AnswerContent::Error),
    (410, AnswerContent::Error),
    (422, AnswerContent::Error),
    (429, AnswerContent::Error),
    (500, AnswerContent::Error),
    (504, AnswerContent::Error),
];

/// Answers with objects, in a list of this schema.
const fn objects(schema: &'static str) -> [(u16, AnswerContent); 8] {
    [
        (200, AnswerContent::Json(schema)),
        (200, AnswerContent::Events),
        (304, AnswerContent::Nothing),
        (400, AnswerContent::Error),
        (404, AnswerContent::Error),
        (429, AnswerContent::Error),
        (502, AnswerContent::Error),
        (504, AnswerContent::Error),
    ]
}

pub(super) static HEALTHZ: Operation =
    Operation::new("/healthz", "The same as `/livez`.", &VERBOSE, PROBE);
pub(super) static LIVEZ: Operation =
    Operation::new("/livez", "Whether the host's tasks go on.", &VERBOSE, PROBE);
pub(super) static READYZ: Operation =
    Operation::new("/readyz", "Whether the host can do its work.", &VERBOSE, PROBE);
pub(super) static METRICS: Operation =
    Operation::new("/metrics", "Metrics for Prometheus.", &[], &[(200, AnswerContent::Metrics)]);
pub(super) static INDEX: Operation = Operation::new(
    "/",
    "The version, and some paths.",
    &[],
    &[(200, AnswerContent::Json("Index"))],
);
pub(super) static DOCUMENT: Operation = Operation::new(
    "/openapi.json",
    "This description.",
    &[],
    &[(200, AnswerContent::Json("Object"))],
);
pub(super) static PLUGINS: Operation = Operation::new(
    "/plugins",
    "Every plugin: version, state, subscriptions, queue, account, counters.",
    &[],
    &[(200, AnswerContent::Json("Plugins"))],
);
pub(super) static LOGS: Operation = Operation::new(
    "/plugins/{name}/logs",
    "The last log lines of a plugin.",
    &logs::PARAMETERS,
    LOG_LINES,
)
.with_headers(&LOG_HEADERS);
pub(super) static DEAD_LETTERS: Operation = Operation::new(
    "/plugins/{name}/dead-letters",
    "The oldest dead letters of a plugin: events that failed all their attempts.",
    &dead_letters::PARAMETERS,
    &[
        (200, AnswerContent::Json("DeadLetters")),
        (400, AnswerContent::Error),
        (401, AnswerContent::Error),
        (404, AnswerContent::Error),
    ],
)
.with_token(TokenUse::Required);
pub(super) static PERMITTED_ACTIONS: Operation = Operation::new(
    "/plugins/{name}/actions",
    "The actions on a plugin that the caller may ask for.",
    &[],
    &[(200, AnswerContent::Json("PermittedActions")), (404, AnswerContent::Error)],
)
.with_token(TokenUse::Optional);
pub(super) static INFORMERS: Operation = Operation::new(
    "/informers",
    "Every informer: state, size of the cache, events.",
    &[],
    &[(200, AnswerContent::Json("Informers"))],
);
/// The files of the page are its own.
pub(super) static DASHBOARD: [Operation; 3] = [
    Operation::new("/ui", "The dashboard.", &[], &[]).described_as(&[]),
    Operation::new("/ui/", "The dashboard.", &[], &[(200, AnswerContent::Page)]),
    Operation::new("/ui/{file}", "A file of the dashboard.", &[], &[]).described_as(&[]),
];
pub(super) static WHY: Operation = Operation::new(
    "/why",
    "Why each plugin was called for an object, or was not.",
    &why::PARAMETERS,
    WHY_ANSWERS,
);
pub(super) static PROBLEMS: Operation = Operation::new(
    "/problems",
    "Files that are not loaded, and errors in the host's configuration.",
    &[],
    &[(200, AnswerContent::Json("Problems"))],
);
pub(super) static DEPLOY: Operation =
    Operation::new("/deploy", "Deployments.", &query::PARAMETERS, DEPLOYMENTS)
        .with_headers(&OBJECT_HEADERS);
pub(super) static RESOURCE: Operation = Operation::new(
    "/{group}/{version}/{resource}",
    "Objects of any resource.",
    &query::PARAMETERS,
    OBJECTS,
)
.with_headers(&OBJECT_HEADERS);
pub(super) static IN_NAMESPACE: Operation = Operation::new(
    "/{group}/{version}/namespaces/{namespace}/{resource}",
    "Objects of one namespace.",
    &query::PARAMETERS,
    OBJECTS,
)
.with_headers(&OBJECT_HEADERS);
pub(super) static ONE: Operation = Operation::new(
    "/{group}/{version}/namespaces/{namespace}/{resource}/{name}",
    "One object.",
    &query::PARAMETERS,
    OBJECTS,
)
.with_headers(&OBJECT_HEADERS);

/// The Kubernetes API. A slash at the end of a document's path has no meaning.
pub(super) static KUBERNETES_API: [Operation; 10] = [
    Operation::new("/api", "Versions of the core group.", &[], KUBERNETES),
    Operation::new("/api/", "The same.", &[], KUBERNETES).described_as(&[]),
    Operation::new("/api/{*rest}", "Core resources.", &LIST_OPTIONS, KUBERNETES).described_as(&[
        "/api/v1",
        "/api/v1/{resource}",
        "/api/v1/{resource}/{name}",
        "/api/v1/namespaces/{namespace}/{resource}",
        "/api/v1/namespaces/{namespace}/{resource}/{name}",
    ]),
    Operation::new("/apis", "All other groups.", &[], KUBERNETES),
    Operation::new("/apis/", "The same.", &[], KUBERNETES).described_as(&[]),
    Operation::new("/apis/{*rest}", "Resources of a group.", &LIST_OPTIONS, KUBERNETES)
        .described_as(&[
            "/apis/{group}",
            "/apis/{group}/{version}",
            "/apis/{group}/{version}/{resource}",
            "/apis/{group}/{version}/{resource}/{name}",
            "/apis/{group}/{version}/namespaces/{namespace}/{resource}",
            "/apis/{group}/{version}/namespaces/{namespace}/{resource}/{name}",
        ]),
    Operation::new("/version", "The version of Kubernetes that is followed.", &[], KUBERNETES),
    Operation::new("/openapi/v2", "A document without schemas, for kubectl.", &[], KUBERNETES),
    Operation::new("/openapi/v3", "The documents of groups, for kubectl.", &[], KUBERNETES),
    Operation::new("/openapi/v3/{*rest}", "The document of a group.", &[], KUBERNETES)
        .described_as(&["/openapi/v3/api/v1", "/openapi/v3/apis/{group}/{version}"]),
];
