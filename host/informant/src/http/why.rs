//! `GET /why`: why plugins were called for an object, or were not.

use super::answers::message;
use super::callers::refusal;
use super::kinds::{ResourceKinds, UnknownKind};
use super::parameters::{Given, Parameter, Values, unknown};
use super::secret_access::SecretAccess;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use informant_apimachinery::{Status, nearest};
use informant_apiserver::aside;
use informant_cache::{ObjectKey, SharedInformerFactory};
use informant_runtime::{PluginName, Plugins, Why, WhyQuestion};
use std::sync::Arc;

/// Bytes of a query: a resource and three names at their bounds.
const QUERY_BYTES_MAX: usize = 2 << 10;

/// The namespace of a question that names none, as for kubectl.
const NAMESPACE: &str = "default";

/// The parameters.
pub(super) static PARAMETERS: [Parameter; 4] = [
    Parameter::new("kind", Values::Text, "A resource, in a form that kubectl takes.")
        .required()
        .like("pods"),
    Parameter::new(
        "namespace",
        Values::Any,
        "The object's namespace, if its resource has them. Without it, `default`.",
    )
    .like("default"),
    Parameter::new("name", Values::Text, "The object's name.").required().like("web"),
    Parameter::new("plugin", Values::Text, "Only this plugin."),
];

/// The rights of a caller who may read the object.
pub(crate) struct WhyRights {
    /// Whether the answer may name other objects of the resource.
    pub(crate) names_others: bool,
    /// Whether the answer may have the writes of plugins, which name any object.
    pub(crate) has_writes: bool,
    /// Whether the answer may have labels of the object's namespace.
    pub(crate) shows_namespace: bool,
}

impl WhyRights {
    /// The answer without what the caller may not read.
    fn shown(&self, mut why: Why) -> Why {
        why.cache.nearest = why.cache.nearest.filter(|_| self.names_others);
        if !self.has_writes {
            let deliveries = why.plugins.iter_mut().flat_map(|plugin| &mut plugin.deliveries);
            deliveries.for_each(|delivery| delivery.wrote = None);
        }
        why
    }
}

/// A refusal: its status and its text.
type WhyRefusal = (StatusCode, String);

/// The answer to a query: `kind=pods&namespace=shop&name=web-1&plugin=hello`. `rights` decides whether the caller may read
/// the object, and whether the answer may name other objects. Objects that the cache leaves out are asked for in turns.
pub(crate) async fn respond(
    plugins: &Plugins,
    informers: &Arc<SharedInformerFactory>,
    query: Option<String>,
    secrets: SecretAccess,
    rights: impl AsyncFnOnce(&WhyQuestion) -> Result<WhyRights, Status>,
    turn: impl AsyncFnOnce() -> bool,
) -> Response {
    let stopping = || message(StatusCode::SERVICE_UNAVAILABLE, "the host stops");
    let (plugins, informers) = (plugins.clone(), informers.clone());
    let (of, among) = (plugins.clone(), informers.clone());
    let asked = move || {
        let kinds = || ResourceKinds::of(&of, &among);
        question(query.as_deref().unwrap_or_default(), kinds, secrets)
    };
    let (mut question, plugin) = match aside(asked).await {
        Some(Ok(asked)) => asked,
        Some(Err((status, text))) => return message(status, text),
        None => return stopping(),
    };
    let rights = match rights(&question).await {
        Ok(rights) => rights,
        Err(status) => return refusal(&status),
    };
    question.shows_namespace = rights.shows_namespace;
    question.plugin = match plugin.map(|name| named_plugin(&name, &plugins.names())).transpose() {
        Ok(plugin) => plugin,
        Err((status, text)) => return message(status, text),
    };
    let left_out = question.left_out(&informers, turn).await;
    let answer =
        move || Json(rights.shown(plugins.why(&question, &informers, left_out))).into_response();
    aside(answer).await.unwrap_or_else(stopping)
}

/// The question about all plugins, and the name of the only one, which is looked up once the caller's rights are known.
fn question(
    query: &str,
    kinds: impl FnOnce() -> ResourceKinds,
    secrets: SecretAccess,
) -> Result<(WhyQuestion, Option<String>), WhyRefusal> {
    let bad = |text: String| (StatusCode::BAD_REQUEST, text);
    let missing = |key: &str| {
        bad(format!("{key} is missing; ask for example /why?kind=pods&namespace=shop&name=web-1"))
    };
    let bounds = (QUERY_BYTES_MAX, PARAMETERS.len() + 1);
    let mut unlisted = |key: &str, _| Err(unknown(&PARAMETERS, key));
    let given = Given::read(&PARAMETERS, Given::default(), query, bounds, &mut unlisted);
    let mut given = given.map_err(bad)?;
    let word = given.take("kind").ok_or_else(|| missing("kind"))?;
    let name = given.take("name").ok_or_else(|| missing("name"))?;
    let kind = kinds().named(&word).map_err(|unknown| match unknown {
        UnknownKind::Malformed(text) => bad(text),
        UnknownKind::NotThere(text) => (StatusCode::NOT_FOUND, text),
    })?;
    if secrets == SecretAccess::Refused && kind.resource.is_secrets() {
        return Err((StatusCode::FORBIDDEN, "Secrets are not served".to_owned()));
    }
    let mut namespace = given.take("namespace").unwrap_or_default();
    if kind.is_namespaced == Some(true) && namespace.is_empty() {
        namespace = NAMESPACE.to_owned();
    }
    if kind.is_namespaced == Some(false) && !namespace.is_empty() {
        return Err(bad(format!(
            "objects of {} have no namespace: leave out the namespace",
            kind.resource
        )));
    }
    let key = ObjectKey::new(namespace, name);
    let resource = kind.resource;
    let question = WhyQuestion { resource, key, plugin: None, shows_namespace: false };
    Ok((question, given.take("plugin")))
}

/// The plugin of this name, which must be there.
pub(super) fn named_plugin(name: &str, plugins: &[PluginName]) -> Result<PluginName, WhyRefusal> {
    if let Some(found) = plugins.iter().find(|plugin| plugin.as_str() == name) {
        return Ok(found.clone());
    }
    let names: Vec<&str> = plugins.iter().map(PluginName::as_str).collect();
    let meant = match nearest(name, &names) {
        Some(near) => format!("did you mean {near}?"),
        None => "`informant plugin list` shows those there are".to_owned(),
    };
    Err((StatusCode::NOT_FOUND, format!("there is no plugin {name:?}; {meant}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_as(secrets: SecretAccess, query: &str, expect: Result<&str, &str>) {
        let watched = [("example.com/v1/widgets".parse().expect("a resource"), None)];
        let found = question(query, || ResourceKinds::new(watched), secrets);
        let found = found.map(|(question, plugin)| {
            let plugin = plugin.unwrap_or_else(|| "*".to_owned());
            format!("{} {} {plugin}", question.resource, question.key)
        });
        match (&found, expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{query}"),
            (Err((_, text)), Err(expect)) => assert!(text.contains(expect), "{query}: {text}"),
            _ => panic!("{query}: {found:?}, expected {expect:?}"),
        }
    }

    #[track_caller]
    fn check(query: &str, expect: Result<&str, &str>) {
        check_as(SecretAccess::Served, query, expect);
    }

    #[test]
    fn a_question_names_an_object_and_perhaps_a_plugin() {
        check("kind=pods&namespace=shop&name=web", Ok("v1/pods shop/web *"));
        check("kind=no&name=node-1&plugin=hello", Ok("v1/nodes node-1 hello"));
        check("kind=widget&name=w", Ok("example.com/v1/widgets w *"));
        check("kind=pods&name=web", Ok("v1/pods default/web *"));
    }

    #[test]
    fn a_question_with_a_mistake_is_answered_with_the_nearest() {
        check("kind=podz&namespace=a&name=b", Err("did you mean pod?"));
        check("knd=pods", Err("did you mean kind=VALUE?"));
        check(
            "kind=node&namespace=shop&name=node-1",
            Err("v1/nodes have no namespace: leave out the namespace"),
        );
        check("name=web", Err("kind is missing"));
        check("kind=pods&namespace=a", Err("name is missing"));
        check("kind=pods&kind=nodes", Err("kind is given twice"));
        check(&format!("name={}", "x".repeat(QUERY_BYTES_MAX)), Err("longer than"));
    }

    #[test]
    fn an_unknown_plugin_comes_with_the_nearest() {
        let plugins = ["hello", "scaler"].map(|name| name.parse().expect("a name"));
        let named = |name| named_plugin(name, &plugins).map(|plugin| plugin.as_str().to_owned());
        let unknown =
            |text: &str| Err((StatusCode::NOT_FOUND, format!("there is no plugin {text}")));
        assert_eq!(named("hello"), Ok("hello".to_owned()));
        assert_eq!(named("helo"), unknown("\"helo\"; did you mean hello?"));
        assert_eq!(named("zzz"), unknown("\"zzz\"; `informant plugin list` shows those there are"));
    }

    #[test]
    fn secrets_are_for_the_host_user_alone() {
        let query = "kind=secret&namespace=a&name=b";
        check_as(SecretAccess::Served, query, Ok("v1/secrets a/b *"));
        check_as(SecretAccess::Refused, query, Err("Secrets are not served"));
        check_as(SecretAccess::Refused, "kind=v1/secrets&namespace=a&name=b", Err("not served"));
    }

    /// Invariant 42.
    #[test]
    fn a_caller_who_may_not_list_learns_no_name() {
        let why: Why = serde_json::from_value(serde_json::json!({
            "resource": "v1/configmaps", "namespace": "shop", "name": "nown", "at": "",
            "cache": {"state": "absent", "nearest": "known"},
            "plugins": [{
                "name": "writer", "state": "running", "answer": "delivered", "because": "",
                "subscriptions": [], "waiting": [], "waitingMore": 0, "deadLetters": [], "keys": [],
                "deliveries": [{
                    "at": "", "subscription": "", "change": "added", "reason": "watch", "attempt": 1,
                    "resourceVersion": "1", "end": "ok", "waitedSeconds": 0.0, "seconds": 0.0,
                    "wrote": "create v1/configmaps hidden/other: ok",
                }],
            }],
        }))
        .expect("an answer");
        let shown = |has: bool| {
            let shown = WhyRights { names_others: has, has_writes: has, shows_namespace: has }
                .shown(why.clone());
            (shown.cache.nearest.is_some(), shown.plugins[0].deliveries[0].wrote.is_some())
        };
        assert_eq!([true, false].map(shown), [(true, true), (false, false)]);
    }
}
