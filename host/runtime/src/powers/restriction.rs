//! The permissions that a running version has lost: its configuration has changed, and no version
//! has taken over with the new one. From the moment at which the host has read the new
//! configuration, the version has only the permissions that both configurations grant.

use crate::contract::configuration::PluginSettings;
use crate::contract::descriptor::Descriptor;
use crate::enumerated::enumerated;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The restriction of one plugin's name. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Restriction(Arc<RwLock<Option<Arc<Restricted>>>>);

/// A configuration that no version has taken over with.
struct Restricted {
    settings: Arc<PluginSettings>,
    /// Resources that a version reads and that this configuration does not grant, with the reason
    /// and the line that grants them.
    reads: BTreeMap<String, String>,
    /// The reason for which a version of this file has no permission at all: the configuration names another hash.
    other_file: Option<String>,
}

/// A version that runs or is about to.
#[derive(Clone, Copy)]
pub(crate) struct HeldVersion<'a> {
    pub(crate) settings: &'a Arc<PluginSettings>,
    pub(crate) descriptor: &'a Descriptor,
    /// The hash of its file.
    pub(crate) sha256: &'a str,
}

/// A configuration with another service account grants nothing together with the old one: the
/// permissions of the two accounts were never compared.
pub(crate) fn check_name(running: &PluginSettings, later: &PluginSettings) -> Result<(), String> {
    if running.service_account == later.service_account {
        return Ok(());
    }
    let named = |settings: &PluginSettings| {
        settings.service_account.as_ref().map_or("the host".to_owned(), ToString::to_string)
    };
    let (before, now) = (named(running), named(later));
    Err(format!(
        "its configuration now names {now} instead of {before}, and no version has taken over with it: lastLoad in /plugins says why"
    ))
}

impl Restriction {
    /// Restricts all versions that run, or are about to, to the permissions that these settings
    /// grant, too.
    pub(crate) fn hold<'a>(
        &self,
        plugin: &str,
        versions: impl Iterator<Item = HeldVersion<'a>> + Clone,
        settings: &Arc<PluginSettings>,
    ) {
        let file = format!("{plugin}.wasm");
        let other_file = |version: HeldVersion<'_>| {
            settings.check_file(&file, version.sha256).err().map(|error| error.to_string())
        };
        let has_all = |version: HeldVersion<'_>| {
            settings.grants_the_same_as(version.settings) && other_file(version).is_none()
        };
        if versions.clone().all(has_all) {
            return self.lift();
        }
        let (mut reads, mut refused) = (BTreeMap::new(), None);
        for version in versions {
            let descriptor = version.descriptor;
            reads.extend(settings.grants.lacking(plugin, descriptor));
            let other_file = other_file(version);
            let why = other_file.clone().or_else(|| check_name(version.settings, settings).err());
            if let Some(why) = why {
                let all = descriptor.resources().into_iter();
                reads.extend(all.map(|resource| (resource.to_string(), why.clone())));
            }
            refused = refused.or(other_file);
        }
        let restricted = Restricted { settings: settings.clone(), reads, other_file: refused };
        *self.0.write() = Some(Arc::new(restricted));
    }

    /// Lifts the restriction: the running version has the newest configuration.
    pub(crate) fn lift(&self) {
        *self.0.write() = None;
    }

    /// The settings that must grant a request or a write, too; none without a restriction.
    pub(crate) fn settings(&self) -> Option<Arc<PluginSettings>> {
        self.0.read().as_ref().map(|restricted| restricted.settings.clone())
    }

    /// Whether a version's file may still write and send requests. The version that is about to take over has its own
    /// settings, which already decide this.
    pub(crate) fn check_file(&self, own: &PluginSettings) -> Result<(), String> {
        let restricted = self.0.read();
        let others = restricted.as_ref().filter(|it| !std::ptr::eq(&*it.settings, own));
        others.and_then(|it| it.other_file.clone()).map_or(Ok(()), Err)
    }

    /// Whether the version may still read a resource. The version that is about to take over has its own settings,
    /// which already decide this.
    pub(crate) fn check_read(
        &self,
        own: &Arc<PluginSettings>,
        resource: &str,
    ) -> Result<(), String> {
        let restricted = self.0.read();
        let others = restricted.as_ref().filter(|it| !Arc::ptr_eq(&it.settings, own));
        let withdrawn = others.and_then(|it| it.reads.get(resource));
        withdrawn.map_or(Ok(()), |why| Err(why.clone()))
    }

    /// The text for `/plugins`.
    pub(crate) fn shown(&self) -> Option<String> {
        let restricted = self.0.read();
        if let Some(why) = &restricted.as_ref()?.other_file {
            return Some(format!("the version that runs has no permission any more: {why}"));
        }
        let reads: Vec<&str> = restricted.as_ref()?.reads.keys().map(String::as_str).collect();
        let text = "its configuration has changed, and no version has taken over with it: the one that runs has what both grant";
        Some(match reads.is_empty() {
            true => text.to_owned(),
            false => format!("{text}, and reads no {}", enumerated(&reads)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::configuration::{Configurations, Document, Layer, read};

    /// The hash of the file that runs.
    const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    /// The settings of a plugin in the host's own configuration.
    fn settings(text: &str) -> Arc<PluginSettings> {
        let document = Document::read("host.yaml", text.as_bytes()).expect("it is YAML");
        let layer = read(&document, Layer::of_plugin).expect("it is well formed");
        let name = || "a".parse().expect("a name");
        let plugins = BTreeMap::from([(name(), layer)]);
        let configurations = Configurations::new(Layer::default(), plugins, Default::default());
        let settings = configurations.and_then(|it| it.of(&name(), None));
        Arc::new(settings.expect("nothing bounds it"))
    }

    /// The remaining reads of a version that reads pods in `shop` and nodes. It runs with `running`, and `later` is
    /// configured.
    #[track_caller]
    fn check(running: &str, later: &str, still: &[&str], is_shown: bool) {
        let descriptor = r#"{"version":"1","subscriptions":[{"resource":"v1/pods","namespaces":["shop"]}],"reads":[{"resource":"v1/nodes"}]}"#;
        let descriptor = Descriptor::parse(descriptor.as_bytes()).expect("a descriptor");
        let restriction = Restriction::default();
        let (before, after) = (&settings(running), &settings(later));
        let version = HeldVersion { settings: before, descriptor: &descriptor, sha256: HASH };
        restriction.hold("a", [version].into_iter(), after);
        let left = |settings| {
            let is_left = |resource: &&str| restriction.check_read(settings, resource).is_ok();
            ["v1/pods", "v1/nodes"].into_iter().filter(is_left).collect::<Vec<_>>()
        };
        assert_eq!(left(before), still, "{later}");
        assert_eq!(left(after).len(), 2, "whoever is to take over has its own settings: {later}");
        assert_eq!(restriction.shown().is_some(), is_shown, "{later}");
        let is_of_another_file = later.contains("sha256") && !later.contains(HASH);
        assert_eq!(restriction.check_file(before).is_err(), is_of_another_file, "{later}");
        assert!(restriction.check_file(after).is_ok(), "{later}");
        restriction.lift();
        assert!(left(before).len() == 2 && restriction.settings().is_none());
    }

    #[test]
    fn what_is_not_granted_any_more_is_not_read() {
        let all = ["v1/pods", "v1/nodes"];
        check("{}", "{}", &all, false);
        check("{}", "config: {a: 1}", &all, false);
        check("{}", "reads: [{resources: [v1/pods]}]", &["v1/pods"], true);
        check("{}", "reads: [{resources: ['*'], namespaces: [shop]}]", &["v1/pods"], true);
        check("{}", "reads: [{resources: ['*'], namespaces: [other]}]", &[], true);
        check("{}", "reads: []", &[], true);
        check("http: [{origins: [a.org], methods: [GET]}]", "{}", &all, true);
        check("{}", "dryRun: true", &all, true);
        let (one, other) = ("serviceAccount: shop/one", "serviceAccount: shop/other");
        check(one, one, &all, false);
        check(one, other, &[], true);
        check("{}", one, &[], true);
        check(one, "{}", &[], true);
    }

    #[test]
    fn a_file_with_another_hash_than_the_configured_one_has_nothing() {
        let all = ["v1/pods", "v1/nodes"];
        check("{}", &format!("sha256: {HASH}"), &all, false);
        check("{}", &format!("sha256: {}", "a".repeat(64)), &[], true);
        let pinned = format!("sha256: {HASH}");
        check(&pinned, &pinned, &all, false);
        check(&pinned, "{}", &all, false);
        check(&pinned, &format!("sha256: {}", "a".repeat(64)), &[], true);
    }

    #[test]
    fn nothing_is_held_where_nothing_runs() {
        let restriction = Restriction::default();
        restriction.hold("a", [].into_iter(), &settings("reads: []"));
        assert!(restriction.settings().is_none());
    }

    #[test]
    fn a_version_that_is_about_to_run_is_held_too() {
        let descriptor = |resource: &str| {
            let text = format!(r#"{{"version":"1","reads":[{{"resource":"{resource}"}}]}}"#);
            Descriptor::parse(text.as_bytes()).expect("a descriptor")
        };
        let (runs, starts) = (descriptor("v1/pods"), descriptor("v1/nodes"));
        let (before, after) = (&settings("{}"), &settings("reads: [{resources: [v1/pods]}]"));
        let restriction = Restriction::default();
        let held = |descriptor| HeldVersion { settings: before, descriptor, sha256: HASH };
        restriction.hold("a", [held(&runs), held(&starts)].into_iter(), after);
        assert!(restriction.check_read(before, "v1/nodes").is_err());
        assert!(restriction.check_read(before, "v1/pods").is_ok());
    }
}
