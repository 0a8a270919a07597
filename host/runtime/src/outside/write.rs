//! One write that a plugin requests. The text of the request is checked first, then turned into a
//! request to the API server. A name that leads elsewhere in a path never gets into one.

mod answer;
mod body;
mod guarded_groups;
mod guesses;

use crate::names::{is_label, is_namespace, is_role_name, is_subdomain};
use crate::outside::cluster_writer::{WriteRequest, WriteTarget};
use informant_apimachinery::GroupVersionResource;
use serde_json::json;
use std::fmt;
use std::str::FromStr;

pub(crate) use guesses::{SecretGuesses, too_many};

/// The default limit of API servers.
pub(crate) const WRITE_BYTES_MAX: usize = 3 << 20;
/// The prefix of a plugin's name as a field manager, so that no other program has the same name:
/// `argocd-controller.wasm` does not own Argo CD's fields. With the longest name it has 73 bytes; API servers accept
/// 128.
const MANAGER: &str = "informant-";
/// As in a descriptor: the longest custom resource has 317.
const RESOURCE_BYTES_MAX: usize = 320;
/// A UID has 36 bytes; no rule requires that.
const UID_BYTES_MAX: usize = 128;

/// The verb of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WriteVerb {
    Create,
    Update,
    Patch,
    Delete,
}

impl WriteVerb {
    pub(crate) const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Patch, Self::Delete];

    /// As RBAC names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

impl FromStr for WriteVerb {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|verb| verb.name() == text);
        known.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("has {text:?}, and may have {known}")
        })
    }
}

/// A resource, or a subresource of it: `v1/pods`, `v1/pods/status`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Writable {
    resource: GroupVersionResource,
    /// Empty: the object itself.
    subresource: String,
}

/// Its objects may have names that others cannot have.
const RBAC: &str = "rbac.authorization.k8s.io";
/// Subresources that lead into containers or to credentials.
const GUARDED_SUBRESOURCES: [&str; 2] = ["token", "ephemeralcontainers"];
/// Subresources that pass the request on to a container, a kubelet or another server. Those know no dry run, and no
/// rule here bounds their work.
const CONNECTIONS: [&str; 4] = ["exec", "attach", "portforward", "proxy"];

impl Writable {
    pub(crate) fn new(resource: GroupVersionResource, subresource: &str) -> Result<Self, String> {
        if !subresource.is_empty() && !is_label(subresource) {
            return Err(format!("{subresource:?} cannot be the name of a subresource"));
        }
        if CONNECTIONS.contains(&subresource) {
            return Err(format!(
                "{subresource:?} is a connection and cannot be written: no dry run and no grant would hold behind it"
            ));
        }
        // Below the name of a namespace the path continues with the objects in it, in every group.
        let is_namespaces = resource.resource == "namespaces";
        if is_namespaces && !["", "status", "finalize"].contains(&subresource) {
            return Err(format!("namespaces have no subresource {subresource:?}"));
        }
        Ok(Self { resource, subresource: subresource.to_owned() })
    }

    pub(crate) fn resource(&self) -> &GroupVersionResource {
        &self.resource
    }

    /// Empty: the object itself.
    pub(crate) fn subresource(&self) -> &str {
        &self.subresource
    }

    pub(crate) fn group(&self) -> &str {
        &self.resource.group
    }

    /// As rules of RBAC name it: `pods`, `pods/status`.
    pub(crate) fn rbac_name(&self) -> String {
        let resource = &self.resource.resource;
        match self.subresource.as_str() {
            "" => resource.clone(),
            subresource => format!("{resource}/{subresource}"),
        }
    }

    /// Whether an object of the resource can have this name.
    fn takes_name(&self, name: &str) -> bool {
        is_subdomain(name) || self.resource.group == RBAC && is_role_name(name)
    }

    /// Whether the write, or its answer, contains a token.
    pub(crate) fn is_tokens(&self) -> bool {
        self.subresource == "token" || self.resource.group == "authentication.k8s.io"
    }

    pub(crate) fn is_secrets(&self) -> bool {
        self.resource.is_secrets()
    }

    /// Whether only the host's own configuration can grant it, under the plugin's name: a write of it can give more
    /// power than was granted.
    pub(crate) fn is_guarded(&self) -> bool {
        self.resource.is_secrets()
            || guarded_groups::is_guarded(&self.resource.group)
            || GUARDED_SUBRESOURCES.contains(&self.subresource.as_str())
    }
}

impl fmt::Display for Writable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.resource)?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        Ok(())
    }
}

impl FromStr for Writable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > RESOURCE_BYTES_MAX {
            return Err(format!("a resource has at most {RESOURCE_BYTES_MAX} bytes"));
        }
        let whole = text.parse::<GroupVersionResource>();
        let problem = match whole {
            Ok(resource) => return Self::new(resource, ""),
            Err(error) => error.to_string(),
        };
        let (resource, subresource) = text.rsplit_once('/').ok_or_else(|| problem.clone())?;
        match resource.parse() {
            Ok(resource) if !subresource.is_empty() => Self::new(resource, subresource),
            _ => Err(problem),
        }
    }
}

/// The kind of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum How {
    Create,
    Update,
    JsonPatch,
    MergePatch,
    StrategicPatch,
    /// `true`: takes over conflicting fields.
    Apply(bool),
    /// With a UID: only the object with this UID.
    Delete(Option<String>),
}

impl How {
    /// The verb of the write.
    pub(crate) fn verb(&self) -> WriteVerb {
        match self {
            Self::Create => WriteVerb::Create,
            Self::Update => WriteVerb::Update,
            Self::JsonPatch | Self::MergePatch | Self::StrategicPatch | Self::Apply(_) => {
                WriteVerb::Patch
            }
            Self::Delete(_) => WriteVerb::Delete,
        }
    }
}

/// The object, as the plugin names it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedObject<'a> {
    pub(crate) resource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) subresource: &'a str,
}

/// One write with checked names.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) what: Writable,
    /// Empty: a cluster-scoped object.
    pub(crate) namespace: String,
    /// Empty: the API server generates the name.
    pub(crate) name: String,
    how: How,
    /// Whether an update may create the object, on API servers that do so.
    may_make: bool,
    body: Vec<u8>,
}

impl Write {
    /// Makes all checks that do not depend on the plugin. An error has the problem.
    pub(crate) fn new(named: NamedObject<'_>, how: How, body: Vec<u8>) -> Result<Self, String> {
        let NamedObject { resource, namespace, name, subresource } = named;
        if resource.len() > RESOURCE_BYTES_MAX {
            return Err(format!("a resource has at most {RESOURCE_BYTES_MAX} bytes"));
        }
        let resource = resource.parse::<GroupVersionResource>().map_err(|it| it.to_string())?;
        let what = Writable::new(resource, subresource)?;
        // Invariant 34.
        if !namespace.is_empty() && !is_namespace(namespace) {
            return Err(format!("{namespace:?} cannot be the name of a namespace"));
        }
        let makes_name = how == How::Create && subresource.is_empty();
        if !(what.takes_name(name) || name.is_empty() && makes_name) {
            return Err(format!("{name:?} cannot be the name of an object"));
        }
        if body.len() > WRITE_BYTES_MAX {
            let found = body.len();
            return Err(format!("it has {found} bytes, and at most {WRITE_BYTES_MAX} are sent"));
        }
        if makes_name {
            body::check_new_object(&body, namespace, name)?;
        }
        if how == How::JsonPatch && what.resource.is_secrets() {
            body::check_patch_of_secret(&body)?;
        }
        if how == How::Apply(false) && what.resource.is_secrets() {
            return Err("an apply to a Secret is to be forced: whether one conflicts that is not would tell what is in it".to_owned());
        }
        if let How::Delete(Some(uid)) = &how
            && uid.len() > UID_BYTES_MAX
        {
            return Err(format!("a UID has at most {UID_BYTES_MAX} bytes"));
        }
        let may_make =
            how == How::Update && subresource.is_empty() && !body::is_of_known_object(&body);
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Ok(Self { what, namespace, name, how, may_make, body })
    }

    /// The verb of the write.
    pub(crate) fn verb(&self) -> WriteVerb {
        self.how.verb()
    }

    /// The verbs to grant. An apply may create the object, and so may an update that does not name the object's UID.
    pub(crate) fn verbs(&self) -> &'static [WriteVerb] {
        match self.how {
            How::Create => &[WriteVerb::Create],
            How::Update if self.may_make => &[WriteVerb::Update, WriteVerb::Create],
            How::Update => &[WriteVerb::Update],
            How::JsonPatch | How::MergePatch | How::StrategicPatch => &[WriteVerb::Patch],
            How::Apply(_) => &[WriteVerb::Patch, WriteVerb::Create],
            How::Delete(_) => &[WriteVerb::Delete],
        }
    }

    /// The request, in the name of the host's own user. The plugin owns the fields, by [`MANAGER`].
    pub(crate) fn request(
        self,
        plugin: &str,
        dry_run: bool,
        answer_bytes_max: usize,
    ) -> WriteRequest {
        let (method, content_type) = match self.how {
            How::Create => ("POST", "application/json"),
            How::Update => ("PUT", "application/json"),
            How::JsonPatch => ("PATCH", "application/json-patch+json"),
            How::MergePatch => ("PATCH", "application/merge-patch+json"),
            How::StrategicPatch => ("PATCH", "application/strategic-merge-patch+json"),
            // JSON is YAML.
            How::Apply(_) => ("PATCH", "application/apply-patch+yaml"),
            How::Delete(_) => ("DELETE", "application/json"),
        };
        let target = self.target();
        let uri = format!("{}?{}", path(&target), self.query(plugin, dry_run));
        let body = match self.how {
            How::Delete(uid) => delete_options(uid.as_deref(), dry_run),
            _ => self.body,
        };
        let service_account = None;
        WriteRequest { method, uri, target, content_type, body, answer_bytes_max, service_account }
    }

    fn target(&self) -> WriteTarget {
        let Writable { resource, subresource } = &self.what;
        let is_posted = self.how == How::Create && subresource.is_empty();
        let name = if is_posted { String::new() } else { self.name.clone() };
        let (resource, subresource) = (resource.clone(), subresource.clone());
        WriteTarget { resource, namespace: self.namespace.clone(), name, subresource }
    }

    fn query(&self, plugin: &str, dry_run: bool) -> String {
        let manager = match self.how {
            How::Delete(_) => None,
            _ => Some(format!("fieldManager={MANAGER}{plugin}")),
        };
        let force = match self.how {
            How::Apply(force) => Some(format!("force={force}")),
            _ => None,
        };
        let dry_run = dry_run.then(|| "dryRun=All".to_owned());
        manager.into_iter().chain(force).chain(dry_run).collect::<Vec<_>>().join("&")
    }
}

fn path(target: &WriteTarget) -> String {
    let namespace = Some(target.namespace.as_str()).filter(|it| !it.is_empty());
    let collection = target.resource.path(namespace);
    let below = [&*collection, &*target.name, &*target.subresource];
    below.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

/// The API server ignores the query if there is a body.
fn delete_options(uid: Option<&str>, dry_run: bool) -> Vec<u8> {
    let mut options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
    if let Some(uid) = uid {
        options["preconditions"] = json!({ "uid": uid });
    }
    if dry_run {
        options["dryRun"] = json!(["All"]);
    }
    options.to_string().into_bytes()
}

#[cfg(test)]
mod tests;
