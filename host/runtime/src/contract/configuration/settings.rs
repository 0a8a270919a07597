//! A plugin's settings, combined from all places.

use super::ConfigurationError;
use super::first_values::first_values;
use super::http_grants::HttpGrants;
use super::keys::{Said, Setting};
use super::layer::{Ceiling, Layer, OnRemoval, RateLimit};
use super::read_grants::Grants;
use super::rules::{BoundedRule, GrantsOf, RULE_ENTRIES_MAX};
use super::write_grants::WriteGrants;
use crate::contract::limits::{Limit, Limits, TABLE};
use crate::outside::service_account::ServiceAccount;
use crate::plugin_name::PluginName;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The host's own configuration of plugins; empty by default.
///
/// Of a setting in several places, the host's value under the plugin's name counts. Next is the file beside the
/// plugin's, then the host's defaults. The ceiling bounds the last two: a user who can drop a plugin can drop a file
/// beside it.
#[derive(Debug, Clone, Default)]
pub struct Configurations {
    pub(super) defaults: Layer,
    pub(super) plugins: BTreeMap<PluginName, Layer>,
    pub(super) ceiling: Ceiling,
    grants_requests: bool,
    /// The limits of a plugin whose own layers set none: all such plugins share them.
    usual_limits: Arc<Limits>,
}

/// The settings of one plugin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PluginSettings {
    /// JSON. The layers and the versions with these settings share it.
    pub(crate) config: Arc<[u8]>,
    /// The required hash of the plugin file, and the place of that setting.
    pub(crate) sha256: Option<(String, String)>,
    /// Actors and instances share them.
    pub(crate) limits: Arc<Limits>,
    /// The number of shards from a configuration; `None` if the descriptor decides.
    shards: Option<usize>,
    /// The most shards that the descriptor may ask for.
    shards_most: usize,
    pub(crate) grants: Grants,
    pub(crate) writes: WriteGrants,
    pub(crate) http: HttpGrants,
    /// Whether a version gets what its descriptor asks for ([`PluginSettings::with_requests`]).
    pub(super) grants_requests: bool,
    /// The configured settings, if these have the requests of a descriptor in addition.
    pub(super) configured: Option<Arc<PluginSettings>>,
    /// The plugin's account in the cluster; `None`: the host's own user.
    pub(crate) service_account: Option<ServiceAccount>,
    /// Writes change nothing, and only HTTP requests that read are sent.
    pub(crate) dry_run: bool,
    /// Whether the host's own configuration sets the dry run, which also allows dry runs of Secrets' writes.
    pub(crate) dry_run_by_host: bool,
    /// Zero: no wait.
    pub(crate) debounce: Duration,
    pub(crate) rate_limit: Option<RateLimit>,
    pub(crate) on_removal: OnRemoval,
    /// The settings that differ from the defaults.
    pub(super) differs: Said,
}

impl Configurations {
    /// Combines the parts of the host's configuration. The defaults may not exceed the ceiling.
    pub fn new(
        defaults: Layer,
        plugins: BTreeMap<PluginName, Layer>,
        ceiling: Ceiling,
    ) -> Result<Self, ConfigurationError> {
        within(&defaults, "defaults.", |limit| ceiling.of(limit).unwrap_or(limit.maximum))?;
        let reads = defaults.reads.iter().flatten().find_map(|rule| rule.beyond(&ceiling.reads));
        let writes = defaults.writes.iter().flatten().find_map(|rule| rule.beyond(&ceiling.writes));
        let http = defaults.http.iter().flatten().find_map(|rule| rule.beyond(&ceiling.http));
        let beyond = [("reads", reads), ("writes", writes), ("http", http)];
        let beyond = beyond.into_iter().find_map(|(key, beyond)| Some((key, beyond?)));
        if let Some((key, beyond)) = beyond {
            let problem = format!("has {beyond}, and the ceiling of this host has it not");
            return Err(defaults.error(key, "defaults.", problem));
        }
        Ok(Self { defaults, plugins, ceiling, ..Self::default() }.with_usual_limits())
    }

    fn with_usual_limits(self) -> Self {
        let mut limits = Limits::default();
        for limit in TABLE {
            let most = self.ceiling.of(limit).unwrap_or(limit.maximum);
            (limit.set)(&mut limits, limit.default.min(most));
        }
        self.defaults.set_limits(&mut limits);
        Self { usual_limits: Arc::new(limits), ..self }
    }

    /// Each version gets what its descriptor asks for. For an embedded cluster.
    #[must_use]
    pub fn granting_requests(self) -> Self {
        Self { grants_requests: true, ..self }
    }

    /// Whether each version gets what its descriptor asks for.
    pub fn grants_requests(&self) -> bool {
        self.grants_requests
    }

    /// The same limits for every plugin without other settings.
    pub fn with_limits(limits: &Limits) -> Self {
        let defaults = Layer {
            limits: TABLE.iter().map(|limit| (limit, (limit.get)(limits))).collect(),
            ..Layer::default()
        };
        Self { defaults, ..Self::default() }.with_usual_limits()
    }

    /// The settings of a plugin with this file beside it, or without one.
    pub(crate) fn of(
        &self,
        name: &PluginName,
        sidecar: Option<&Layer>,
    ) -> Result<PluginSettings, ConfigurationError> {
        let named = self.plugins.get(name);
        if let Some(sidecar) = sidecar {
            self.check_sidecar(name, named, sidecar)?;
        }
        // The later layer counts.
        let layers = [Some(&self.defaults), sidecar, named];
        let mut limits = self.usual_limits.clone();
        let own = [sidecar, named].into_iter().flatten();
        for layer in own.filter(|layer| !layer.limits.is_empty()) {
            layer.set_limits(Arc::make_mut(&mut limits));
        }
        let mut differs = self.lowered_limits();
        let (mut config, mut sha256) = (Arc::from(*b"{}"), None);
        let (mut shards, mut debounce, mut rate_limit) = (None, Duration::ZERO, None);
        let (mut on_removal, mut service_account) = (OnRemoval::default(), None);
        for layer in layers.into_iter().flatten() {
            config = layer.config.clone().unwrap_or(config);
            if let Some(hash) = &layer.sha256 {
                let place = layer.said.get("sha256").map_or(String::new(), Setting::place);
                sha256 = Some((hash.clone(), place));
            }
            shards = layer.shards.or(shards);
            debounce = layer.debounce.unwrap_or(debounce);
            rate_limit = layer.rate_limit.or(rate_limit);
            on_removal = layer.on_removal.unwrap_or(on_removal);
            service_account = layer.service_account.clone().or(service_account);
            for (path, said) in &layer.said {
                // A default value still differs from another place's value.
                let differed = differs.get(path).is_some_and(|before| !before.is_default);
                let is_default = said.is_default && !differed;
                differs.insert(path.clone(), Setting { is_default, ..said.clone() });
            }
        }
        differs.retain(|_, setting| !setting.is_default);
        Ok(PluginSettings {
            http: self.http(layers, limits.http_rules_max)?,
            config,
            sha256,
            limits,
            shards,
            shards_most: self.ceiling.shards,
            grants: GrantsOf::new(layers, &self.ceiling.reads, |layer| layer.reads.as_ref()),
            writes: GrantsOf::new(layers, &self.ceiling.writes, |layer| layer.writes.as_ref())
                .or_nothing(),
            grants_requests: self.grants_requests,
            configured: None,
            service_account,
            dry_run: self.dry_run(named, sidecar),
            dry_run_by_host: named.and_then(|layer| layer.dry_run) == Some(true),
            debounce,
            rate_limit,
            on_removal,
            differs,
        })
    }

    /// The limits whose defaults the ceiling lowers.
    fn lowered_limits(&self) -> Said {
        let is_lower = |limit: &&Limit| self.ceiling.of(limit).is_some_and(|it| it < limit.default);
        let lowered = TABLE.iter().filter(is_lower);
        let said = lowered.filter_map(|limit| self.ceiling.said.get_key_value(&limit.path()));
        said.map(|(path, said)| (path.clone(), said.clone())).collect()
    }

    /// Checks that a file beside a plugin is within the ceiling.
    fn check_sidecar(
        &self,
        name: &PluginName,
        named: Option<&Layer>,
        sidecar: &Layer,
    ) -> Result<(), ConfigurationError> {
        within(sidecar, "", |limit| self.most(limit))?;
        check_entries("reads", sidecar.reads.as_deref(), sidecar)?;
        check_entries("writes", sidecar.writes.as_deref(), sidecar)?;
        self.check_shards(sidecar)?;
        self.check_service_account(sidecar)?;
        self.check_steering(name, named, sidecar)
    }

    fn check_shards(&self, sidecar: &Layer) -> Result<(), ConfigurationError> {
        let most = self.ceiling.shards;
        sidecar.shards.filter(|shards| *shards > most).map_or(Ok(()), |shards| {
            let problem = format!("is {shards}, and the ceiling of this host is {most}");
            Err(sidecar.error("shards", "", problem))
        })
    }

    /// A file beside a plugin may not set `config` or `serviceAccount` if the host's own configuration grants the
    /// plugin more than such files can.
    fn check_steering(
        &self,
        name: &PluginName,
        named: Option<&Layer>,
        sidecar: &Layer,
    ) -> Result<(), ConfigurationError> {
        let Some(named) = named else { return Ok(()) };
        let steers = [
            ("config", sidecar.config.is_some() && named.config.is_none()),
            (
                "serviceAccount",
                sidecar.service_account.is_some() && named.service_account.is_none(),
            ),
        ];
        let Some((key, _)) = steers.into_iter().find(|(_, steers)| *steers) else { return Ok(()) };
        let rules = named.reads.iter().flatten();
        let beyond = rules.filter_map(|rule| rule.beyond_unbounded(&self.ceiling.reads)).next();
        let writes = named.writes.iter().flatten().next().map(|_| "writes".to_owned());
        let http = named.http.iter().flatten().next().map(|_| "requests".to_owned());
        let beyond = beyond.or(writes).or(http);
        let Some(beyond) = beyond else { return Ok(()) };
        let problem = format!(
            "is not taken from here: the host's own configuration grants {beyond} to {name}, so write it there, below plugins.{name}"
        );
        Err(sidecar.error(key, "", problem))
    }

    /// The most that a file beside a plugin may set a limit to. Without a host's setting, this is a multiple of the
    /// default.
    fn most(&self, limit: &Limit) -> u64 {
        let set = self.defaults.limits.iter().find(|(set, _)| set.name == limit.name);
        let by_default = set.map_or(limit.default, |(_, number)| *number);
        self.ceiling.of(limit).unwrap_or_else(|| by_default.max(limit.of_files()))
    }

    fn http(
        &self,
        layers: [Option<&Layer>; 3],
        entries_max: usize,
    ) -> Result<HttpGrants, ConfigurationError> {
        let grants = GrantsOf::new(layers, &self.ceiling.http, |layer| layer.http.as_ref());
        let found = grants.entries();
        let of = layers.into_iter().rev().flatten().find(|layer| layer.http.is_some());
        if let Some(layer) = of.filter(|_| found > entries_max) {
            let problem = format!(
                "has {found} origins and paths in its rules, and may have {entries_max} (limits.httpRules)"
            );
            return Err(layer.error("http", "", problem));
        }
        Ok(grants.or_nothing())
    }

    /// A file beside a plugin may name only the ceiling's service accounts, or that of the defaults.
    fn check_service_account(&self, sidecar: &Layer) -> Result<(), ConfigurationError> {
        let Some(account) = &sidecar.service_account else { return Ok(()) };
        let is_default = self.defaults.service_account.as_ref() == Some(account);
        if is_default || self.ceiling.service_accounts.contains(account) {
            return Ok(());
        }
        let problem = format!(
            "is {account}, and the ceiling of this host (serviceAccounts) does not have it"
        );
        Err(sidecar.error("serviceAccount", "", problem))
    }

    /// A file beside a plugin can set a dry run, and cannot undo that of the host's defaults.
    fn dry_run(&self, named: Option<&Layer>, sidecar: Option<&Layer>) -> bool {
        let said = |layer: Option<&Layer>| layer.and_then(|layer| layer.dry_run);
        let by_others = || said(sidecar) == Some(true) || said(Some(&self.defaults)) == Some(true);
        said(named).unwrap_or_else(by_others)
    }
}

/// An error for the first limit above its maximum. `at` is the path of the layer's keys.
fn within(layer: &Layer, at: &str, most: impl Fn(&Limit) -> u64) -> Result<(), ConfigurationError> {
    let beyond = layer.limits.iter().find(|(limit, number)| *number > most(limit));
    beyond.map_or(Ok(()), |(limit, number)| {
        let [found, most] = [*number, most(limit)].map(|number| limit.unit.show(number));
        let problem = format!("is {found}, and the ceiling of this host is {most}");
        Err(layer.error(&limit.path(), at, problem))
    })
}

/// An error for too many entries in the lists of a file's rules of one kind.
fn check_entries<R: BoundedRule>(
    key: &str,
    rules: Option<&[R]>,
    sidecar: &Layer,
) -> Result<(), ConfigurationError> {
    let found = rules.into_iter().flatten().map(R::entries).sum::<usize>();
    if found <= RULE_ENTRIES_MAX {
        return Ok(());
    }
    let problem = format!(
        "has {found} entries in the lists of its rules, and a file beside a plugin may have {RULE_ENTRIES_MAX}"
    );
    Err(sidecar.error(key, "", problem))
}

impl Layer {
    fn set_limits(&self, limits: &mut Limits) {
        for (limit, number) in &self.limits {
            (limit.set)(limits, *number);
        }
    }

    /// An error about one of the layer's settings.
    fn error(&self, path: &str, at: &str, problem: String) -> ConfigurationError {
        let said = self.said.get(path);
        let (file, line) = said.map_or(("", 0), |said| (said.file.as_str(), said.line));
        ConfigurationError::new(file, line, &format!("{at}{path}"), problem)
    }
}

impl Setting {
    /// The place of the setting.
    pub(super) fn place(&self) -> String {
        match self.line {
            0 => self.file.clone(),
            line => format!("{} line {line}", self.file),
        }
    }
}

impl PluginSettings {
    /// The number of shards of a plugin whose descriptor asks for `asked`.
    pub(crate) fn shards(&self, asked: usize) -> usize {
        self.shards.unwrap_or_else(|| asked.min(self.shards_most))
    }

    /// The place that sets the number of shards.
    pub(crate) fn shards_place(&self) -> String {
        self.differs.get("shards").map_or("its descriptor".to_owned(), Setting::place)
    }

    /// Whether a file with this hash may run.
    pub(crate) fn check_file(&self, file: &str, sha256: &str) -> Result<(), ConfigurationError> {
        match &self.sha256 {
            Some((wanted, place)) if wanted != sha256 => {
                let problem =
                    format!("sha256 is to be {wanted}, and this version of {file} has {sha256}");
                Err(ConfigurationError::new(place, 0, "", problem))
            }
            _ => Ok(()),
        }
    }

    /// Whether both grant the same, in any place.
    pub(crate) fn grants_the_same_as(&self, other: &Self) -> bool {
        let are_rules_the_same = self.grants.grants_the_same_as(&other.grants)
            && self.writes.grants_the_same_as(&other.writes)
            && self.http.grants_the_same_as(&other.http);
        let is_request_granted = self.grants_requests && other.grants_requests;
        (are_rules_the_same || is_request_granted)
            && (self.dry_run, self.dry_run_by_host) == (other.dry_run, other.dry_run_by_host)
            && self.service_account == other.service_account
    }

    /// Whether it grants reads or writes of Secrets, or tokens.
    pub(crate) fn grants_secrets(&self) -> bool {
        let reads = self.grants.rules().iter().any(|rule| rule.names_secrets());
        reads || self.writes.rules().iter().any(|rule| rule.names_secrets() || rule.names_tokens())
    }

    /// The settings in `/plugins`: the first values of each that differs from its default, and its place. Of `config` only
    /// the keys.
    pub(crate) fn to_json(&self) -> Value {
        let differs = self.differs.iter();
        differs
            .map(|(path, setting)| {
                let value = match path.as_str() {
                    // These keys are the first ones already.
                    "config" => setting.shown.clone(),
                    _ => first_values(&setting.shown),
                };
                let shown = json!({ "value": value, "from": setting.place() });
                (path.clone(), shown)
            })
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}
