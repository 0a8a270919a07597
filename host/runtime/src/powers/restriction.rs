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
        versions: impl Iterator<Item = (&'a Arc<PluginSettings>, &'a Descriptor)> + Clone,
        settings: &Arc<PluginSettings>,
    ) {
        if versions.clone().all(|(own, _)| settings.grants_the_same_as(own)) {
            return self.lift();
        }
        let mut reads = BTreeMap::new();
        for (own, descriptor) in versions {
            reads.extend(settings.grants.lacking(plugin, descriptor));
            if let Err(why) = check_name(own, settings) {
                let all = descriptor.resources().into_iter();
                reads.extend(all.map(|resource| (resource.to_string(), why.clone())));
            }
        }
        let restricted = Restricted { settings: settings.clone(), reads };
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
        restriction.hold("a", [(before, &descriptor)].into_iter(), after);
        let left = |settings| {
            let is_left = |resource: &&str| restriction.check_read(settings, resource).is_ok();
            ["v1/pods", "v1/nodes"].into_iter().filter(is_left).collect::<Vec<_>>()
        };
        assert_eq!(left(before), still, "{later}");
        assert_eq!(left(after).len(), 2, "whoever is to take over has its own settings: {later}");
        assert_eq!(restriction.shown().is_some(), is_shown, "{later}");
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
        restriction.hold("a", [(before, &runs), (before, &starts)].into_iter(), after);
        assert!(restriction.check_read(before, "v1/nodes").is_err());
        assert!(restriction.check_read(before, "v1/pods").is_ok());
    }
}
