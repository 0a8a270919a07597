//! `GET /openapi.json`: the description of the API for programs (OpenAPI 3.1), made from the table of what is served.

use super::operations::{AnswerContent, Operation, OperationKind, PATH_PARAMETERS, TokenUse};
use super::query::{PARAMETERS_MAX, QUERY_BYTES_MAX};
use crate::actions::LETTERS_MAX;
use crate::metrics;
use serde_json::{Map, Value, json};

/// The ways in which an address knows its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallerSchemes {
    /// None: they are processes of this machine.
    Local,
    Tokens,
    TokensAndCertificates,
}

/// The answers that every path but a probe has for what is wrong with its caller or with the moment.
const FOR_CALLERS: [u16; 2] = [403, 503];
/// The same on the secure address.
const FOR_USERS: [u16; 3] = [401, 414, 429];

/// The description of these operations.
pub(super) fn document<'a>(
    operations: impl IntoIterator<Item = &'a Operation>,
    schemes: CallerSchemes,
) -> Value {
    let mut paths = Map::new();
    for operation in operations {
        let route = [operation.route];
        for path in operation.paths.unwrap_or(&route) {
            let described = described(operation, path, schemes);
            let item = paths.entry(*path).or_insert_with(|| json!({}));
            item[operation.method()] = described;
        }
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Informant",
            "version": env!("CARGO_PKG_VERSION"),
            "description": format!("The state of a host and of its plugins, and objects from its cache. Everything is \
                read with GET. POST is for actions on plugins. A query for objects has at most {PARAMETERS_MAX} parameters in {QUERY_BYTES_MAX} bytes. \
                Answers are in gzip where the caller accepts it."),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": schemas()},
    });
    let bearer = json!({
        "type": "http", "scheme": "bearer", "description": "A token of the cluster.",
    });
    let certificate = json!({
        "type": "mutualTLS", "description": "A client certificate of an authority of --client-ca-file.",
    });
    let token = json!({
        "type": "http", "scheme": "bearer", "description": "The token of the host, for actions and for dead letters. informant ui prints it.",
    });
    let (known, security) = match schemes {
        CallerSchemes::Local => (json!({"token": token}), Value::Null),
        CallerSchemes::Tokens => (json!({"bearer": bearer}), json!([{"bearer": []}])),
        CallerSchemes::TokensAndCertificates => (
            json!({"bearer": bearer, "certificate": certificate}),
            json!([{"bearer": []}, {"certificate": []}]),
        ),
    };
    document["components"]["securitySchemes"] = known;
    if schemes != CallerSchemes::Local {
        document["security"] = security;
    }
    document
}

fn described(operation: &Operation, path: &str, schemes: CallerSchemes) -> Value {
    let is_variable = |name: &str| path.contains(&format!("{{{name}}}"));
    let in_path = PATH_PARAMETERS.iter().filter(|one| is_variable(one.name));
    // Other paths of the Kubernetes API are those of documents and of single objects, which have no list options.
    let is_list = operation.paths.is_none() || path.ends_with("/{resource}");
    let in_query = operation.parameters.iter().filter(|one| is_list && !is_variable(one.name));
    let parameters = in_path.map(|one| one.described("path"));
    let parameters = parameters.chain(in_query.map(|one| one.described("query")));
    let parameters = parameters.chain(operation.headers.iter().map(|one| one.described("header")));
    let mut described = json!({
        "summary": operation.summary,
        "parameters": parameters.collect::<Value>(),
        "responses": responses(operation, schemes),
    });
    if operation.is_probe() {
        described["security"] = json!([]);
    }
    if schemes == CallerSchemes::Local {
        match operation.token {
            TokenUse::Unused => {}
            TokenUse::Optional => described["security"] = json!([{}, {"token": []}]),
            TokenUse::Required => described["security"] = json!([{"token": []}]),
        }
    }
    if let OperationKind::Acts(Some(schema)) = operation.kind {
        let schema = json!({"$ref": format!("#/components/schemas/{schema}")});
        described["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": schema}}});
    }
    described
}

fn responses(operation: &Operation, schemes: CallerSchemes) -> Value {
    let mut answers = operation.answers.to_vec();
    if !operation.is_probe() {
        answers.extend(FOR_CALLERS.map(|code| (code, AnswerContent::Error)));
    }
    if !operation.is_probe() && schemes != CallerSchemes::Local {
        answers.extend(FOR_USERS.map(|code| (code, AnswerContent::Error)));
    }
    answers.sort_by_key(|(code, _)| *code);
    let mut responses = Map::new();
    for (code, content) in answers {
        let response =
            responses.entry(code.to_string()).or_insert_with(|| response(operation, code));
        if let Some((media_type, schema)) = media(content) {
            response["content"][media_type] = json!({"schema": schema});
        }
    }
    responses.into()
}

/// An answer without its content.
fn response(operation: &Operation, code: u16) -> Value {
    let status = http::StatusCode::from_u16(code).ok();
    let reason = status.and_then(|status| status.canonical_reason()).unwrap_or_default();
    let mut response = json!({"description": reason});
    let text = json!({"schema": {"type": "string"}});
    let has_tag = operation.answers.iter().any(|(code, _)| *code == 304);
    if has_tag && [200, 304].contains(&code) {
        response["headers"] = json!({"ETag": text});
    }
    if [429, 503].contains(&code) {
        response["headers"] = json!({"Retry-After": text});
    }
    response
}

/// The media type of a content, and its schema.
fn media(content: AnswerContent) -> Option<(&'static str, Value)> {
    let text = json!({"type": "string"});
    let of = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    Some(match content {
        AnswerContent::Nothing => return None,
        AnswerContent::Text => ("text/plain; charset=utf-8", text),
        AnswerContent::Page => ("text/html; charset=utf-8", text),
        AnswerContent::Metrics => (metrics::CONTENT_TYPE, text),
        AnswerContent::Events => ("text/event-stream", text),
        AnswerContent::Json(schema) => ("application/json", of(schema)),
        AnswerContent::Error => ("application/json", of("Error")),
    })
}

fn schemas() -> Value {
    let text = json!({"type": "string"});
    let list = |member: &str| {
        let objects = json!({"type": "array", "items": {"type": "object"}});
        record(&[member], json!({member: objects, "continue": text}))
    };
    let plugin = record(&["name", "state"], json!({"name": text, "state": text}));
    let informer = record(&["resource", "state"], json!({"resource": text, "state": text}));
    let problem = record(&["path", "text"], json!({"path": text, "text": text}));
    let letter = record(&["id", "error"], json!({"id": {"type": "integer"}, "error": text}));
    let ids = json!({
        "type": "array", "minItems": 1, "maxItems": LETTERS_MAX,
        "items": {"type": "integer", "minimum": 0, "maximum": u64::MAX},
    });
    let some = only(&["ids"], json!({"ids": ids, "all": {"const": false}}));
    let all =
        only(&["all"], json!({"all": {"const": true}, "ids": {"type": "array", "maxItems": 0}}));
    let permitted = json!({"actions": {"type": "array", "items": text}, "reason": {"type": ["string", "null"]}});
    let line = json!({"timestamp": text, "level": text, "message": text});
    let line = record(&["timestamp", "level", "message"], line);
    let paths = json!({"type": "array", "items": text});
    let status = json!({
        "kind": {"const": "Status"},
        "apiVersion": {"const": "v1"},
        "status": {"const": "Failure"},
        "message": text,
        "reason": text,
        "code": {"type": "integer"},
    });
    json!({
        "Index": record(&["informant", "paths"], json!({"informant": text, "paths": paths})),
        "Informers": {"type": "array", "items": informer},
        "Plugins": {"type": "array", "items": plugin},
        "DeadLetters": {"type": "array", "items": letter},
        "Letters": {"oneOf": [all, some]},
        "OneSchedule": only(&[], json!({"schedule": {"type": ["string", "null"]}})),
        "PermittedActions": record(&["actions", "reason"], permitted),
        "LogLines": {"type": "array", "items": line},
        "Why": {"type": "object"},
        "Problems": {"type": "array", "items": problem},
        "Objects": list("msg"),
        "Deployments": list("data"),
        "Object": {"type": "object"},
        "Message": record(&["msg"], json!({"msg": text})),
        "Status": record(&["kind", "apiVersion", "status", "code"], status),
        "Error": {
            "description": "The Kubernetes API and refusals of callers have a Status, all others a message.",
            "anyOf": [
                {"$ref": "#/components/schemas/Message"},
                {"$ref": "#/components/schemas/Status"},
            ],
        },
    })
}

/// An object with these properties, of which some are always there.
fn record(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties})
}

/// The same without any other property.
fn only(required: &[&str], properties: Value) -> Value {
    let mut record = record(required, properties);
    record["additionalProperties"] = false.into();
    record
}

#[cfg(test)]
mod tests {
    use super::super::action_operations;
    use super::super::actions;
    use super::super::operations::LIST_OPTIONS;
    use super::super::parameters::{Parameter, Values};
    use super::super::query::{self, InPath, Query};
    use super::super::routes;
    use super::super::scrapes::Scrapes;
    use super::*;
    use crate::actions::PluginAction;
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use http::Request;
    use http_body_util::BodyExt as _;
    use informant_apiserver::{ListOptions, QueryParameters};
    use std::collections::BTreeSet;
    use tower::ServiceExt as _;

    /// Everything that is served, as the router has it.
    fn served() -> Vec<&'static Operation> {
        let pages = routes::page_table(Scrapes::default());
        let others = routes::object_table().into_iter().chain(actions::table());
        pages.into_iter().chain(others).map(|served| served.operation).collect()
    }

    /// A path with examples in place of its variables.
    fn filled(path: &str) -> String {
        PATH_PARAMETERS.iter().fold(path.to_owned(), |path, one| {
            path.replace(&format!("{{{}}}", one.name), one.example.unwrap_or("x"))
        })
    }

    /// The entry of the router that a path leads to.
    async fn matched(path: &str) -> String {
        let route = |routes: Router, operation: &Operation| {
            let name = operation.route;
            routes.route(name, get(async move || name))
        };
        let router = served().into_iter().fold(Router::new(), route);
        let request = Request::get(filled(path)).body(Body::empty()).expect("a request");
        let answer = router.oneshot(request).await.expect("an answer");
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        String::from_utf8_lossy(&body).into_owned()
    }

    #[tokio::test]
    async fn every_route_is_described_and_every_described_path_is_served() {
        let document = document(served(), CallerSchemes::Local);
        let paths = document["paths"].as_object().expect("paths");
        let mut described = BTreeSet::new();
        for path in paths.keys() {
            let route = matched(path).await;
            assert!(!route.is_empty() && !filled(path).contains('{'), "{path}");
            described.insert(route);
        }
        // A slash at the end means nothing, and the dashboard's files are its own.
        let others = ["/api/", "/apis/", "/ui", "/ui/{file}"];
        let routes = served().into_iter().map(|operation| operation.route.to_owned());
        let routes = routes.filter(|route| !others.contains(&route.as_str()));
        assert_eq!(described, routes.collect());
    }

    fn names(parameters: &Value, place: &str) -> BTreeSet<String> {
        let all = parameters.as_array().expect("a list").iter();
        let all = all.filter(|one| one["in"] == place).filter_map(|one| one["name"].as_str());
        all.map(str::to_owned).collect()
    }

    /// A query with a value of a parameter.
    fn query_with(one: &Parameter) -> String {
        let value = match one.values {
            Values::Equalities => return format!("{}[a]=b", one.name),
            Values::Flag => "true",
            Values::Whole(..) => "1",
            _ => one.example.unwrap_or("x"),
        };
        format!("{}={value}", one.name)
    }

    #[test]
    fn every_described_parameter_has_an_effect() {
        let pods = "v1/pods".parse().expect("a resource");
        for one in &query::PARAMETERS {
            let query = query_with(one);
            let found = Query::parse(&pods, InPath::default(), Some(&query));
            let is_known = found.as_ref().is_ok_and(|found| !is_all(found))
                || found.as_ref().is_err_and(|problem| !problem.contains("unknown parameter"));
            assert!(is_known, "{query}: {found:?}");
        }
        for one in &LIST_OPTIONS {
            let query = query_with(one);
            let found = ListOptions::parse(&QueryParameters::parse(Some(&query)));
            assert!(!found.is_ok_and(|found| found == ListOptions::default()), "{query}");
        }
    }

    /// Whether a query asks for all of a resource.
    fn is_all(query: &Query) -> bool {
        format!("{query:?}") == format!("{:?}", Query::default())
    }

    #[test]
    fn variables_of_paths_are_parameters_of_them() {
        let document = document(served(), CallerSchemes::TokensAndCertificates);
        for (path, item) in document["paths"].as_object().expect("paths") {
            let variables = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            let variables: BTreeSet<String> = variables.map(str::to_owned).collect();
            let operation = item.as_object().and_then(|item| item.values().next());
            let operation = operation.expect("an operation");
            assert_eq!(names(&operation["parameters"], "path"), variables, "{path}");
        }
    }

    #[test]
    fn list_options_are_those_of_lists() {
        let document = document(served(), CallerSchemes::Local);
        let of = |path: &str| names(&document["paths"][path]["get"]["parameters"], "query").len();
        assert_eq!(of("/api/v1/namespaces/{namespace}/{resource}"), LIST_OPTIONS.len());
        assert_eq!(of("/apis/{group}/{version}/{resource}"), LIST_OPTIONS.len());
        assert_eq!(["/api/v1", "/api/v1/{resource}/{name}", "/apis/{group}"].map(of), [0, 0, 0]);
    }

    #[test]
    fn references_lead_to_schemas() {
        let document = document(served(), CallerSchemes::Tokens);
        let text = document.to_string();
        let references = text.split("\"#/components/schemas/").skip(1);
        for name in references.filter_map(|rest| rest.split('"').next()) {
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }

    /// The status codes of a path, and whether it has schemes of callers.
    fn check(schemes: CallerSchemes, path: &str, expect: &str) {
        let document = document(served(), schemes);
        let item = &document["paths"][path];
        let described = item.get("get").unwrap_or(&item["post"]);
        let codes = described["responses"].as_object().expect("answers").keys();
        let codes: Vec<&str> = codes.map(String::as_str).collect();
        let security = described.get("security").or(document.get("security"));
        let security = security.map_or("-".to_owned(), Value::to_string);
        assert_eq!(format!("{} {security}", codes.join(",")), expect, "{path}");
    }

    #[test]
    fn callers_of_the_secure_address_have_schemes_and_more_answers() {
        use CallerSchemes::{Local, Tokens, TokensAndCertificates};
        check(Local, "/problems", "200,403,503 -");
        check(Tokens, "/problems", r#"200,401,403,414,429,503 [{"bearer":[]}]"#);
        let both = r#"200,401,403,414,429,503 [{"bearer":[]},{"certificate":[]}]"#;
        check(TokensAndCertificates, "/problems", both);
        check(TokensAndCertificates, "/livez", "200,503 []");
        let pause = "/plugins/{name}/pause";
        check(Local, pause, r#"200,400,401,403,404,408,409,413,429,503 [{"token":[]}]"#);
        let letters = "/plugins/{name}/dead-letters";
        check(Local, letters, r#"200,400,401,403,404,503 [{"token":[]}]"#);
        check(Local, "/plugins/{name}/actions", r#"200,403,404,503 [{},{"token":[]}]"#);
        let both =
            r#"200,400,401,403,404,408,409,413,414,429,503 [{"bearer":[]},{"certificate":[]}]"#;
        check(TokensAndCertificates, pause, both);
    }

    /// The action that is carried out is the one that the path names.
    #[test]
    fn actions_are_served_at_their_paths() {
        for action in PluginAction::ALL {
            let route = match action {
                PluginAction::Pause => "/plugins/{name}/pause",
                PluginAction::Resume => "/plugins/{name}/resume",
                PluginAction::Reload => "/plugins/{name}/reload",
                PluginAction::Rollback => "/plugins/{name}/rollback",
                PluginAction::Fire => "/plugins/{name}/fire",
                PluginAction::Redrive => "/plugins/{name}/dead-letters/redrive",
                PluginAction::Purge => "/plugins/{name}/dead-letters/purge",
            };
            assert_eq!(action_operations::of(action).route, route);
            let plugin = "a".parse().expect("a name");
            assert_eq!(action.path_of(&plugin), route.replace("{name}", "a"));
        }
    }
}
