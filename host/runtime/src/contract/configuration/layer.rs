//! The declaration of every setting of a plugin, and the settings from one place.

use super::http_grants::HttpRule;
use super::keys::{Keys, Said};
use super::read_grants::Rule;
use super::write_grants::WriteRule;
use super::{API_VERSION, ConfigurationError, Document};
use crate::contract::limits::{Limit, TABLE, Unit};
use crate::outside::service_account::ServiceAccount;
use crate::shard::{SHARDS_MAX, SHARDS_OF_FILES};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// A plugin that needs a longer wait should use a schedule.
const DEBOUNCE_MILLIS_MAX: u64 = 60_000;
/// A guest cannot be called more often.
const CALLS_PER_SECOND_MAX: u64 = 1_000_000;

/// The values of `shards`.
const SHARDS: (Unit, RangeInclusive<u64>) = (Unit::Count, 1..=SHARDS_MAX as u64);

/// Limits with their values.
pub(crate) type LimitValues = Vec<(&'static Limit, u64)>;

/// The settings from one place: a file beside a plugin's, or a part of the host's configuration. Other places give the
/// missing settings.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    /// JSON.
    pub(super) config: Option<Arc<[u8]>>,
    pub(super) sha256: Option<String>,
    pub(super) shards: Option<usize>,
    pub(super) limits: LimitValues,
    pub(super) reads: Option<Vec<Rule>>,
    pub(super) writes: Option<Vec<WriteRule>>,
    pub(super) http: Option<Vec<HttpRule>>,
    pub(super) service_account: Option<ServiceAccount>,
    pub(super) dry_run: Option<bool>,
    pub(super) debounce: Option<Duration>,
    pub(super) rate_limit: Option<RateLimit>,
    pub(super) on_removal: Option<OnRemoval>,
    pub(super) said: Said,
}

/// The rule for waiting events when a plugin's file is removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnRemoval {
    #[default]
    Drain,
    Drop,
}

const ON_REMOVAL: &[(&str, &str, OnRemoval)] = &[
    (
        "drain",
        "the plugin gets them first, for `limits.drainTime` at most; it does not get later events",
        OnRemoval::Drain,
    ),
    ("drop", "the plugin ends at once", OnRemoval::Drop),
];

/// The highest rate of a plugin's `handle` calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateLimit {
    pub(crate) events_per_second: u64,
    /// Calls that may follow each other at once after a pause.
    pub(crate) burst: u64,
}

/// The bounds of files beside plugins, and of the host's defaults.
#[derive(Debug, Clone)]
pub struct Ceiling {
    pub(super) reads: Vec<Rule>,
    pub(super) writes: Vec<WriteRule>,
    pub(super) http: Vec<HttpRule>,
    /// The accounts that a file beside a plugin may name.
    pub(super) service_accounts: Vec<ServiceAccount>,
    pub(super) limits: LimitValues,
    pub(super) shards: usize,
    pub(super) said: Said,
}

/// A whole file beside a plugin's.
pub fn sidecar(keys: &mut Keys<'_>) -> Layer {
    keys.constant("apiVersion", API_VERSION, "The version of the format.");
    keys.constant("kind", "PluginConfiguration", "The kind of the file.");
    Layer::of_plugin(keys)
}

impl Layer {
    /// Reads a whole file beside a plugin's. This does not check whether the plugin can use its `config`.
    ///
    /// # Errors
    /// The file, the line, and the problem.
    pub fn of_sidecar(file: &str, text: &[u8]) -> Result<Self, ConfigurationError> {
        super::keys::read(&Document::read(file, text)?, sidecar)
    }

    /// The settings of one plugin.
    pub fn of_plugin(keys: &mut Keys<'_>) -> Self {
        let config = keys.any(
            "config",
            "{}",
            "The plugin's own configuration. The host hands it to `describe` and `start` as JSON.",
        );
        let sha256 = keys.text(
            "sha256",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "The hash of the plugin file. The host refuses a file with another hash. Without this key the host takes any file of the name.",
            sha256,
        );
        let doc = "The number of instances of the plugin. Each has its share of the objects and keys, by the hash of their names, and the whole of `limits.memory`. Without this key, the plugin's descriptor sets the number, or there is one instance. A plugin that exports `stateful` has only one.";
        let shards = keys.number("shards", SHARDS, None, doc).map(|shards| shards as usize);
        let shared = Self::of_all(keys);
        Self { config, sha256, shards, said: keys.said(), ..shared }
    }

    /// The settings that may hold for all plugins.
    pub fn of_all(keys: &mut Keys<'_>) -> Self {
        let limits = limits(keys, "The limits of the plugin.", |limit| limit.default);
        let reads = Rule::declare(
            keys,
            "reads",
            "the subscriptions and reads of the plugin, without Secrets",
            "The resources that the plugin may read. One matching rule is enough. A plugin that asks for more waits, and its error shows the line that would grant it.",
        );
        let doc = "The writes to the cluster that the plugin may make. One matching rule allows a write; the host refuses every other write. Only the host's own file, under the plugin's name, may grant some writes: of Secrets, of resources that decide about permissions (also Leases), of resources that lead into containers.";
        let writes = WriteRule::declare(keys, "nothing at all", doc);
        let doc = "The HTTP requests that the plugin may send. The first rule that matches a request counts. The host refuses a request that matches no rule.";
        let http = HttpRule::declare(keys, "no server", doc);
        let doc = "The service account of the plugin, as `shop/labeller`. The host writes in the name of the account. The plugin reads, and gets events of, only the objects that the account may list and watch. A file beside a plugin may name only an account of the ceiling.";
        let service_account = keys.text("serviceAccount", "shop/labeller", doc, str::parse);
        let doc = "Whether the plugin's writes change nothing: the API server only checks them, and the log has its answers. Over HTTP the host sends only the methods that read: `GET`, `HEAD`, `OPTIONS`.";
        let dry_run = keys.boolean("dryRun", false, doc);
        let debounce = keys.number(
            "debounce",
            (Unit::Milliseconds, 0..=DEBOUNCE_MILLIS_MAX),
            Some(0),
            "How long an event waits for later events of its object. The host merges these into it. More events do not make the wait longer. No deletion is lost.",
        );
        let debounce = debounce.map(Duration::from_millis);
        let doc = "The highest rate of `handle` calls, first attempts and retries alike. Calls above the rate wait.";
        let rate_limit = keys.object("rateLimit", doc, RateLimit::declare).flatten();
        let doc = "The treatment of waiting events when the plugin's file is removed.";
        let on_removal = keys.choice("onRemoval", ON_REMOVAL, doc);
        let said = keys.said();
        Self {
            limits,
            reads,
            writes,
            http,
            service_account,
            dry_run,
            debounce,
            rate_limit,
            on_removal,
            said,
            ..Self::default()
        }
    }
}

impl RateLimit {
    fn declare(keys: &mut Keys<'_>) -> Option<Self> {
        let bounds = (Unit::PerSecond, 1..=CALLS_PER_SECOND_MAX);
        let doc = "Calls a second.";
        let per_second = keys.number("eventsPerSecond", bounds, None, doc);
        let bounds = (Unit::Count, 1..=CALLS_PER_SECOND_MAX);
        let doc = "Calls that may follow each other at once after a pause. Without this key the number is `eventsPerSecond`.";
        let burst = keys.number("burst", bounds, None, doc);
        if keys.is_read() && per_second.is_none() {
            keys.missing("eventsPerSecond", "is missing: write it as 10".to_owned());
        }
        let events_per_second = per_second?;
        Some(Self { events_per_second, burst: burst.unwrap_or(events_per_second) })
    }
}

impl Default for Ceiling {
    fn default() -> Self {
        let reads = vec![Rule::all_but_secrets()];
        Self {
            reads,
            writes: Vec::new(),
            http: Vec::new(),
            service_accounts: Vec::new(),
            limits: Vec::new(),
            shards: SHARDS_OF_FILES,
            said: Said::new(),
        }
    }
}

impl Ceiling {
    /// The settings of the ceiling.
    pub fn declare(keys: &mut Keys<'_>) -> Self {
        let doc = "The highest value of each limit. The defaults here bound only the files beside plugins.";
        let limits = limits(keys, doc, Limit::of_files);
        let reads = Rule::declare(
            keys,
            "reads",
            "everything but Secrets",
            "The most that `reads` may grant.",
        );
        let doc =
            "The most that `writes` may grant, without the writes that only `plugins` may grant.";
        let writes = WriteRule::declare(keys, "nothing at all", doc).unwrap_or_default();
        let doc = "The most that `http` may grant. A rule elsewhere is in force if one of these rules has its origin, method, paths, addresses and headers.";
        let http = HttpRule::declare(keys, "no server", doc).unwrap_or_default();
        let doc = "The service accounts that files beside plugins may name. `defaults` and `plugins` may name others.";
        let like = ("shop/labeller", "none", 0);
        let service_accounts = keys.text_list("serviceAccounts", like, doc, str::parse);
        let service_accounts = service_accounts.unwrap_or_default();
        let doc = "The highest number of `shards` in a file beside a plugin. A descriptor that asks for more instances gets this number. `plugins` may set more.";
        let shards = keys.number("shards", SHARDS, Some(SHARDS_OF_FILES as u64), doc);
        let default = Self::default();
        let (reads, shards) =
            (reads.unwrap_or(default.reads), shards.map_or(default.shards, |it| it as usize));
        Self { limits, reads, writes, http, service_accounts, shards, said: keys.said() }
    }

    /// The ceiling of a limit, if it is set.
    pub(super) fn of(&self, limit: &Limit) -> Option<u64> {
        let set = self.limits.iter().find(|(set, _)| set.name == limit.name);
        set.map(|(_, most)| *most)
    }
}

fn limits(keys: &mut Keys<'_>, doc: &'static str, default: fn(&Limit) -> u64) -> LimitValues {
    let set = keys.object("limits", doc, |keys| {
        let mut values = LimitValues::new();
        for limit in TABLE {
            let bounds: (Unit, _) = (limit.unit, limit.minimum..=limit.maximum);
            let number = keys.number(limit.name, bounds, Some(default(limit)), limit.doc);
            values.extend(number.map(|number| (limit, number)));
        }
        values
    });
    set.unwrap_or_default()
}

fn sha256(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let problem = || format!("{text:?} is no SHA-256: write the 64 digits that sha256sum prints");
    is_hash.then(|| text.to_ascii_lowercase()).ok_or_else(problem)
}
