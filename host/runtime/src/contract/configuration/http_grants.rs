//! HTTP grants: the servers that a plugin may send requests to. Without a rule there are none. The
//! host checks each request against the rules, and each request that follows a redirect.

use super::keys::Keys;
use super::rules::{BoundedRule, GrantsOf};
use super::write_grants::needed;
use crate::contract::descriptor::HttpSpec;
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use crate::outside::outbound::{
    AddressKind, AddressKinds, GrantedRequest, Method, OriginRule, OutboundRequest, PathRule,
    SecretHeader, SecretName, is_same_header, secret_header_name, secret_prefix,
};

/// The most headers that one rule adds: the host reads a file for each header of every request.
const SECRET_HEADERS_MAX: usize = 8;

/// Methods at origins, optionally below some paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpRule {
    origins: Vec<OriginRule>,
    methods: Vec<Method>,
    /// Empty: all paths.
    paths: Vec<PathRule>,
    addresses: AddressKinds,
    /// The headers that the host adds.
    headers: Vec<SecretHeader>,
}

impl HttpRule {
    /// The rules below `http`; `None` without the key.
    pub(super) fn declare(
        keys: &mut Keys<'_>,
        default: &'static str,
        doc: &'static str,
    ) -> Option<Vec<Self>> {
        keys.object_list("http", default, doc, |keys| {
            let doc = "The origins: scheme, host and port. The default scheme is `https`, and the default port is the scheme's. `*.` stands for all names below a name, and not for the name itself.";
            let like = ("https://api.example.com", "", 0);
            let origins = keys.text_list("origins", like, doc, str::parse::<OriginRule>);
            let origins = needed(keys, "origins", origins, "[\"https://api.example.com\"]");
            let doc = "The methods: `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE`, `OPTIONS`.";
            let methods = keys.text_list("methods", ("POST", "", 0), doc, str::parse::<Method>);
            let methods = needed(keys, "methods", methods, "[GET]");
            let doc = "The paths, each with all paths below it and any query. A path that decodes to another path is below none.";
            let paths = keys.text_list("paths", ("/v1", "all", 1), doc, str::parse::<PathRule>);
            let doc = "The kinds of addresses that the origin's host may have: `public`, `private` (also a cluster's services and pods), `loopback`. No request goes to link-local addresses, clouds' metadata or the API server.";
            let like = ("private", "public", 1);
            let addresses = keys.text_list("addresses", like, doc, str::parse::<AddressKind>);
            Self {
                origins,
                methods,
                paths: paths.unwrap_or_default(),
                addresses: addresses.map(AddressKinds::new).unwrap_or_default(),
                headers: secret_headers(keys),
            }
        })
    }

    fn allows(&self, request: &OutboundRequest) -> bool {
        let target = &request.target;
        self.is_for(request)
            && (self.paths.is_empty() || self.paths.iter().any(|path| path.covers(target)))
    }

    /// The same, for any path.
    fn is_for(&self, request: &OutboundRequest) -> bool {
        self.methods.contains(&request.method)
            && self.origins.iter().any(|origin| origin.covers(&request.target))
    }

    /// Whether this rule grants all addresses and headers that the other grants.
    fn has_all_of(&self, other: &Self) -> bool {
        other.addresses.are_within(&self.addresses)
            && other.headers.iter().all(|header| self.headers.contains(header))
    }

    /// Whether the rule grants the plugin's intended paths and addresses. It is not known yet which of the paths the
    /// plugin will use.
    fn suits(&self, spec: &HttpSpec) -> bool {
        let overlaps =
            |path: &PathRule| self.paths.iter().any(|own| own.contains(path) || path.contains(own));
        let is_needed = |kind: &AddressKind| *kind != AddressKind::Public;
        let needed = AddressKinds::new(addresses(spec).iter().filter(is_needed));
        needed.are_within(&self.addresses)
            && (self.paths.is_empty() || spec.paths.is_empty() || spec.paths.iter().all(overlaps))
    }
}

impl BoundedRule for HttpRule {
    /// One rule of the ceiling has to allow a part alone.
    fn beyond(&self, ceiling: &[Self]) -> Option<String> {
        let paths: Vec<Option<&PathRule>> = match self.paths.is_empty() {
            true => vec![None],
            false => self.paths.iter().map(Some).collect(),
        };
        let is_within = |origin: &OriginRule, method: &Method, path: Option<&PathRule>| {
            ceiling.iter().any(|other| {
                other.has_all_of(self)
                    && other.methods.contains(method)
                    && other.origins.iter().any(|wide| wide.contains(origin))
                    && (other.paths.is_empty()
                        || path.is_some_and(|path| other.paths.iter().any(|it| it.contains(path))))
            })
        };
        let parts = self
            .origins
            .iter()
            .flat_map(|origin| self.methods.iter().map(move |method| (origin, method)));
        let mut beyond = parts
            .filter(|(origin, method)| !paths.iter().all(|path| is_within(origin, method, *path)));
        let (origin, method) = beyond.next()?;
        Some(format!("{} to {origin}", method.name()))
    }

    fn comparisons(&self, ceiling: &[Self]) -> usize {
        let requests = self.origins.len() * self.methods.len() * self.paths.len().max(1);
        requests * ceiling.iter().map(Self::entries).sum::<usize>()
    }

    /// Its origins and paths.
    fn entries(&self) -> usize {
        self.origins.len() + self.paths.len()
    }
}

/// Whether the rules grant some request for each intended origin and method. Paths are compared once for each rule,
/// and not for each origin and method.
fn cover(rules: &[HttpRule], spec: &HttpSpec) -> bool {
    let suiting: Vec<&HttpRule> = rules.iter().filter(|rule| rule.suits(spec)).collect();
    spec.origins.iter().all(|origin| {
        let named = |rule: &&&HttpRule| rule.origins.iter().any(|own| own.contains(origin));
        let named: Vec<&&HttpRule> = suiting.iter().filter(named).collect();
        spec.methods.iter().all(|method| named.iter().any(|rule| rule.methods.contains(method)))
    })
}

/// The intended addresses, with those that the origins contain.
fn addresses(spec: &HttpSpec) -> AddressKinds {
    let written = spec.origins.iter().filter_map(OriginRule::address_kind);
    written.fold(spec.addresses.clone(), |kinds, kind| kinds.with(kind))
}

/// The number of origins and paths in these rules.
pub(super) fn entries(rules: &[HttpRule]) -> usize {
    rules.iter().map(HttpRule::entries).sum()
}

fn secret_headers(keys: &mut Keys<'_>) -> Vec<SecretHeader> {
    let doc = "Headers that the host adds and the plugin never sees, each with its `secret`. A redirect to another origin does not take them along.";
    let named = keys.named("headers", doc, |keys| {
        let doc = "The file in the directory of secrets (`--secrets`) whose content is the value. The host reads the file for each request.";
        let secret = keys.text("secret", "api-token", doc, str::parse::<SecretName>);
        if keys.is_read() && secret.is_none() {
            keys.missing("secret", "is missing: write it as api-token".to_owned());
        }
        let doc = "The text before the content of the file.";
        let prefix = keys.text("prefix", "Bearer ", doc, secret_prefix);
        Some((secret?, prefix.unwrap_or_default()))
    });
    let mut headers: Vec<SecretHeader> = Vec::new();
    for (name, line, value) in named {
        let parsed = secret_header_name(&name);
        let parsed = parsed.and_then(|name| {
            match headers.iter().any(|header| is_same_header(&header.name, &name)) {
                true => Err(format!("has {name:?} twice")),
                false if headers.len() == SECRET_HEADERS_MAX => {
                    Err(format!("has more than {SECRET_HEADERS_MAX} entries"))
                }
                false => Ok(name),
            }
        });
        match (parsed, value) {
            (Ok(name), Some((secret, prefix))) => {
                headers.push(SecretHeader { name, prefix, secret });
            }
            (Err(problem), _) => keys.fail(line, "headers", problem),
            // The error was reported before.
            (Ok(_), None) => {}
        }
    }
    headers
}

/// The requests that a plugin may send. `limits.httpRules` bounds the rules.
pub(crate) type HttpGrants = GrantsOf<HttpRule>;

/// The line of a configuration that grants exactly these requests.
pub(crate) fn granting_http(specs: &[HttpSpec]) -> String {
    let rules = specs.iter().map(|spec| {
        let origins: Vec<String> = spec.origins.iter().map(ToString::to_string).collect();
        let paths: Vec<&str> = spec.paths.iter().map(PathRule::as_str).collect();
        rule(&origins, &spec.methods, &paths, &addresses(spec))
    });
    line(&rules.collect::<Vec<_>>())
}

impl HttpGrants {
    /// The number of origins and paths in its rules.
    pub(crate) fn entries(&self) -> usize {
        entries(self.rules())
    }

    /// The headers and addresses of the first rule that fits this request. Or the missing grant, and the line that
    /// would give it. Only parts of the path that cannot be secret are shown.
    pub(crate) fn check_request(
        &self,
        plugin: &str,
        request: &OutboundRequest,
    ) -> Result<GrantedRequest, String> {
        // The ceiling's rules for this request, found once for all rules.
        let bounds: Option<Vec<&HttpRule>> = self
            .ceiling
            .as_ref()
            .map(|ceiling| ceiling.iter().filter(|bound| bound.allows(request)).collect());
        let is_bounded = |rule: &HttpRule| {
            let is_within = |bounds: &Vec<&HttpRule>| bounds.iter().any(|it| it.has_all_of(rule));
            bounds.as_ref().is_none_or(is_within)
        };
        let found = self.rules().iter().find(|rule| rule.allows(request) && is_bounded(rule));
        if let Some(rule) = found {
            let (addresses, secrets) = (rule.addresses.clone(), rule.headers.clone());
            return Ok(GrantedRequest { addresses, secrets });
        }
        let (method, origin) = (request.method.name(), request.target.origin());
        let is_known = self.rules().iter().any(|rule| rule.is_for(request));
        let path = if is_known { "this path of " } else { "" };
        let advice = self.advice(plugin, request, &AddressKinds::default());
        let text = format!("to {method} {path}{origin} is not granted; {advice}");
        Err(one_line(&text, ERROR_BYTES_MAX).into_owned())
    }

    /// The line that grants this request with these addresses, and as little else as possible.
    pub(crate) fn advice(
        &self,
        plugin: &str,
        request: &OutboundRequest,
        addresses: &AddressKinds,
    ) -> String {
        let is_possible = self.may_grant(|ceiling| {
            let fits =
                |bound: &HttpRule| bound.allows(request) && addresses.are_within(&bound.addresses);
            ceiling.iter().any(fits)
        });
        let origin = request.target.origin().to_owned();
        let path = request.target.plain_path();
        let line = line(&[rule(&[origin], &[request.method], path.as_slice(), addresses)]);
        let advice = self.place(is_possible).advice(plugin, &line);
        let beside = if self.rules().is_empty() { "" } else { ", before the rules that are there" };
        format!("to grant it, {advice}{beside}")
    }

    /// The missing grants for a plugin's intended requests.
    pub(crate) fn check(&self, plugin: &str, specs: &[HttpSpec]) -> Result<(), String> {
        let is_possible = |spec: &HttpSpec| self.may_grant(|rules| cover(rules, spec));
        let lacks = |spec: &&HttpSpec| !cover(self.rules(), spec) || !is_possible(spec);
        let lacking: Vec<String> = specs.iter().filter(lacks).map(HttpSpec::shown).collect();
        let place = self.place(specs.iter().all(is_possible));
        place.granting_all(plugin, "", &lacking, &granting_http(specs))
    }
}

/// A rule as text. The default, public addresses alone, is left out.
fn rule(
    origins: &[String],
    methods: &[Method],
    paths: &[&str],
    addresses: &AddressKinds,
) -> String {
    let methods: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    let mut rule = format!("origins: {origins:?}, methods: [{}]", methods.join(", "));
    if !paths.is_empty() {
        rule = format!("{rule}, paths: {paths:?}");
    }
    if *addresses != AddressKinds::default() {
        let kinds: Vec<&str> = addresses.iter().map(AddressKind::name).collect();
        rule = format!("{rule}, addresses: [{}]", kinds.join(", "));
    }
    format!("{{{rule}}}")
}

fn line(rules: &[String]) -> String {
    format!("http: [{}]", rules.join(", "))
}

#[cfg(test)]
mod tests;
