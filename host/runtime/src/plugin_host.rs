//! The host of all plugins: one task that follows the directories and decides every load, swap and
//! removal.

mod access;
mod accounts;
mod configure;
mod instances;
mod latest_read;
mod lost_actors;
mod options;
mod outcomes;
mod record;
mod removal;
mod requests;
pub(crate) mod running_version;
mod standby;
mod stop;
mod unknown_names;

use crate::contract::coverage;
use crate::counters::add_one;
use crate::directory::{Decision, Directories, PluginChange, PluginFile};
use crate::guest::compiler::Compiler;
use crate::guest::host_functions::HostFunctions;
use crate::guest::instance_ends::InstanceEnds;
use crate::guest::json_pointer_index::{FillError, SharedIndexes};
use crate::guest_threads::GuestThreads;
use crate::kept::archive::{Archive, ArchiveThread};
use crate::outside::event_recorder::{self, EventRecorder, EventTask};
use crate::outside::leading::Leading;
use crate::outside::turns::{HttpTurns, WriteTurns};
use crate::plugin::actor::{Version, VersionTapes};
use crate::plugin::admin::{PluginAdmin, Request};
use crate::plugin::lifecycle::Input;
use crate::plugin::loads::{Load, Loads, StepOutcome, TookOver};
use crate::plugin::prepare::{Code, LoadError, PrepareOrder, Prepared, Preparer};
use crate::plugin::{Loaded, Plugin};
use crate::plugin_metrics::MetricNames;
use crate::plugin_name::PluginName;
use crate::plugins::Plugins;
use crate::powers::Powers;
use crate::powers::access::{ANSWERS_TIME_MAX, Access};
use crate::recording::CallRecorder;
use configure::ReadConfigurations;
use informant_cache::SharedInformerFactory;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::info;

pub use options::{PluginHostOptions, StartError};
use running_version::{reads, running, subscriptions};
pub use stop::STOPS_TIME_MAX;
use unknown_names::Problems;

/// Runs plugins until its shutdown.
pub struct PluginHost {
    directories: Directories,
    configuration: ReadConfigurations,
    informers: Arc<SharedInformerFactory>,
    access: Access,
    preparer: Preparer,
    indexes: SharedIndexes,
    metric_names: MetricNames,
    /// Boxed: a map keeps room for twice as many entries as it has.
    plugins: BTreeMap<PluginName, Box<Plugin>>,
    loads: Loads,
    loads_begun: u64,
    leading: Leading,
    /// Whether the host has led since it started: until then versions are prepared, and none runs.
    leads: bool,
    /// `None` while the host runs.
    events: Option<EventTask>,
    state: Option<ArchiveThread>,
    recorder: Option<CallRecorder>,
    problems: Problems,
    stops_time: Duration,
    view: Plugins,
    admin: PluginAdmin,
    requests: mpsc::Receiver<Request>,
}

impl PluginHost {
    /// Makes the engine and the threads. No plugin is loaded before [`run`](Self::run).
    pub fn new(options: PluginHostOptions) -> Result<Self, StartError> {
        let (engine, leads) = (options.compiler.engine()?, options.leadership.is_none());
        let leading = Leading::new(options.leadership);
        let compiler = Compiler::new(options.compiler)?;
        let threads = Arc::new(GuestThreads::start(options.threads.max(1))?);
        let (admin, requests) = PluginAdmin::new();
        let state = options.state.map(ArchiveThread::start).transpose()?;
        let archive = state.as_ref().map(ArchiveThread::archive);
        let indexes = SharedIndexes::default();
        let access = Access::new(options.access, options.review_every);
        let (counts, beats) = (access.counts(), threads.beats());
        let view = Plugins::new(compiler.clone(), indexes.clone(), archive, counts, beats);
        let cluster = WriteTurns::new(options.cluster, leading.clone());
        let (recorder, events) = EventRecorder::new(cluster.clone());
        let http = HttpTurns::new(options.http, leading.clone());
        let (guesses, tracer) = (Arc::default(), options.tracer);
        let powers = Powers { cluster, http, events: recorder, guesses, tracer };
        Ok(Self {
            directories: Directories::new(options.directories),
            preparer: Preparer {
                functions: HostFunctions::new(&engine)?,
                engine,
                threads,
                powers,
                compiler,
                leading: leading.clone(),
                tapes: None,
            },
            configuration: ReadConfigurations::new(options.configurations),
            informers: options.informers,
            access,
            indexes,
            metric_names: MetricNames::default(),
            plugins: BTreeMap::new(),
            loads: Loads::default(),
            loads_begun: 0,
            leads,
            leading,
            events: Some(events),
            admin,
            requests,
            state,
            recorder: None,
            problems: Problems::before_first_scan(options.awaited),
            stops_time: options.stops_time,
            view,
        })
    }

    /// The view for readers.
    pub fn plugins(&self) -> Plugins {
        self.view.clone()
    }

    /// The handle for changes.
    pub fn admin(&self) -> PluginAdmin {
        self.admin.clone()
    }

    /// Follows the directories until `shutdown`, then stops every plugin.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let events = self.events.take().map(|events| tokio::spawn(events.run()));
        let mut looks = accounts::looks();
        // Invariant 25.
        loop {
            tokio::select! {
                () = shutdown.cancelled() => break,
                Some(outcome) = self.loads.next() => self.settle(outcome),
                decision = self.directories.next() => self.carry_out(decision),
                () = self.access.changed() => self.follow_access(),
                Ok(()) = self.configuration.receiver.changed() => self.reconfigure(),
                Some(request) = self.requests.recv() => self.answer(request),
                () = self.leading.acquired(), if !self.leads => self.lead(),
                _ = looks.tick() => self.look(),
            }
        }
        self.stop().await;
        if let Some(events) = events {
            event_recorder::end(events).await;
        }
    }

    /// The periodic checks of states that change without a signal.
    fn look(&mut self) {
        self.view.beat();
        self.look_at_accounts();
        self.look_at_actors();
        self.log_waiting_problems();
        if !self.leads {
            self.show_standbys();
        }
    }

    fn archive(&self) -> Option<Archive> {
        self.state.as_ref().map(ArchiveThread::archive)
    }

    /// Carries out the decision about the directories.
    fn carry_out(&mut self, decision: Decision) {
        self.problems.is_file_awaited = decision.look_again.is_some();
        self.problems.of_directories = decision.problems;
        for change in decision.changes {
            match change {
                PluginChange::Configure(name, file) => self.configure(name, file),
                PluginChange::Load(name, file) => self.found(name, file),
                PluginChange::Refuse(name, reason) => self.refuse(&name, reason),
                PluginChange::Remove(name) => self.gone(&name),
            }
        }
        self.tell_problems();
        self.view.found_all();
        if let Some(archive) = self.archive() {
            archive.present(self.plugins.keys().cloned().collect());
        }
        self.refuse_reloads();
    }

    /// The plugin of this name; made if the file is new.
    fn plugin(&mut self, name: &PluginName) -> &mut Plugin {
        self.plugins.entry(name.clone()).or_insert_with(|| {
            let mut plugin = Box::new(Plugin::new(name, &self.metric_names));
            plugin.is_recorded = self.preparer.tapes.is_some();
            self.view.insert(name.clone(), plugin.core.clone());
            plugin
        })
    }

    /// Notes a plugin whose file has no loadable content.
    fn refuse(&mut self, name: &PluginName, reason: &str) {
        let reason = reason.to_owned();
        self.plugin(name).core.apply([Input::LoadFailed { reason }], Timestamp::now());
    }

    fn found(&mut self, name: PluginName, file: PluginFile) {
        let is_asked_for = self.directories.is_to_load_again(&name);
        let plugin = self.plugin(&name);
        let sha256 = &file.sha256[..12];
        if plugin.goes_on() {
            plugin.rolled_back_from = None;
            info!(plugin = name.as_str(), "its file is there again");
        }
        info!(plugin = name.as_str(), sha256, "loading {}", file.path.display());
        plugin.next = Some(file);
        if !is_asked_for {
            plugin.asked.read();
        }
        self.load_next(&name);
    }

    /// Begins the waiting load, unless one is under way.
    fn load_next(&mut self, name: &PluginName) {
        let Some(plugin) = self.plugins.get_mut(name) else { return };
        // The call under way of an earlier plugin of this name still settles its event, and its memory counts for that
        // plugin.
        let is_held_up = plugin.load.is_some() || self.loads.is_stopping(name);
        if is_held_up || plugin.next.is_none() || self.configuration.is_being_read(name) {
            return;
        }
        if let Some(archive) = self.state.as_ref().filter(|_| !plugin.remembers()) {
            let archive = archive.archive();
            let load = self.begin_load(name, String::new());
            let begun = load.clone();
            return self.loads.spawn(load, async move {
                let kept = archive.read(&begun.name).await;
                StepOutcome::Read(begun, kept)
            });
        }
        let Some(PluginFile { sha256, content: Some(content), .. }) = plugin.next.take() else {
            return;
        };
        let is_asked_for = plugin.asked.load();
        // A configuration that cannot be used has changed no settings: the load reports it.
        let is_usable = self.configuration.settings(name).is_ok();
        if is_usable && !is_asked_for && plugin.runs_already(&sha256) {
            return;
        }
        let (sha256, code) = match plugin.in_place_of(&sha256).filter(|_| !is_asked_for) {
            Some(Loaded { sha256, prepared }) => {
                let text =
                    "its file's version was rolled back from: the one in charge is loaded again";
                info!(plugin = name.as_str(), sha256 = &sha256[..12], "{text}");
                (sha256, Code::Compiled(prepared.template))
            }
            None => (sha256, Code::File(content, plugin.compiled.clone())),
        };
        let load = self.begin_load(name, sha256);
        self.prepare(load, code);
    }

    fn prepare(&mut self, load: Load, code: Code) {
        let (name, sha256) = (load.name.clone(), load.sha256.clone());
        let settings = match self.settings_of_load(&name) {
            Ok(settings) => settings,
            Err(error) => return self.settle(StepOutcome::Refused(load, error.into())),
        };
        let Some(plugin) = self.plugins.get(&name) else { return };
        let ledger = plugin.core.counters.ledger.clone();
        let (log, log_budget) = (plugin.core.log.clone(), plugin.log_budget_of_load(&settings));
        let order = PrepareOrder { name, sha256, code, settings, ledger, log, log_budget };
        let (preparer, begun) = (self.preparer.clone(), load.clone());
        self.loads.spawn(load, async move {
            match preparer.prepare(order).await {
                Ok(prepared) => StepOutcome::Prepared(begun, prepared),
                Err(error) => StepOutcome::Refused(begun, error),
            }
        });
    }

    fn begin_load(&mut self, name: &PluginName, sha256: String) -> Load {
        self.loads_begun += 1;
        let number = self.loads_begun;
        if let Some(plugin) = self.plugins.get_mut(name) {
            plugin.load = Some(number);
            plugin.begin_room();
            plugin.core.apply([Input::FileChanged], Timestamp::now());
        }
        Load::new(name.clone(), number, sha256)
    }

    /// Commands the plugin's actors to take over with the new version.
    fn take_over(&mut self, load: Load, prepared: Prepared) {
        if let Err(error) = self.check_instances(&load.name, prepared.shards) {
            return self.settle(StepOutcome::Refused(load, error));
        }
        let (descriptor, account) = (&prepared.descriptor, &prepared.settings.service_account);
        let granted = self.access.of(account.as_ref(), descriptor);
        let lease = |gvr: &_, scope| coverage::lease(&self.informers, gvr, scope);
        let Some(plugin) = self.plugins.get_mut(&load.name) else { return };
        if prepared.settings.grants_secrets() {
            // Before `start` and `restore`, whose lines may have a value.
            plugin.core.log.grants_secrets();
        }
        let ledger = &plugin.core.counters.ledger;
        let reads = reads(&prepared, (&self.indexes, ledger), &granted, lease);
        self.informers.start();
        let ids = plugin.ids(&prepared.descriptor);
        let version = Arc::new(Version {
            load: load.number,
            number: prepared.descriptor.version.clone(),
            template: prepared.template.clone(),
            reads: Arc::new(reads),
            settings: prepared.settings.clone(),
            subscriptions: subscriptions(
                &prepared.descriptor,
                &ids,
                &plugin.asked_by(&prepared.descriptor, load.number),
                &granted,
            ),
            schedules: prepared.descriptor.schedules.clone(),
            shards: prepared.shards,
            tapes: VersionTapes::default(),
            ends: InstanceEnds::default(),
        });
        let limits = &prepared.settings.limits;
        plugin.shards_ahead = prepared.shards;
        plugin.starting = Some(Box::new(load.loaded(prepared.clone())));
        let with = (limits, &self.leading);
        let takeover = plugin.takeover(&load.name, &self.preparer, with, prepared.shards);
        let (begun, indexes) = (load.clone(), self.indexes.clone());
        let account = (plugin.core.counters.ledger.clone(), limits.host_memory_max);
        let ended = plugin.ended.clone();
        self.loads.spawn(load, async move {
            if let Err(error) = indexes.fill(&version.reads, account, ended).await {
                let error = match error {
                    FillError::Room(overdraft) => LoadError::Indexes(overdraft),
                    FillError::Ended(text) => LoadError::Host(text),
                };
                return StepOutcome::Refused(begun, error);
            }
            // The reads of the version's `start` are not refused because a review is under way.
            _ = tokio::time::timeout(ANSWERS_TIME_MAX, granted.answered()).await;
            match takeover.carry_out(version).await {
                Ok(restored) => {
                    let took_over = TookOver { prepared, ids, restored, granted };
                    StepOutcome::Swapped(begun, Box::new(took_over))
                }
                Err(error) => StepOutcome::Refused(begun, error),
            }
        });
    }

    /// The new version has the queue; now its subscriptions follow.
    fn took_over(&mut self, load: &Load, took_over: TookOver) {
        let TookOver { prepared, ids, restored, granted } = took_over;
        let Some(plugin) = self.plugins.get_mut(&load.name) else { return };
        let first = plugin.current.is_none();
        let descriptor = &prepared.descriptor;
        plugin.core.set(&prepared.settings);
        plugin.granted = granted;
        plugin.subscribe(descriptor, &ids, (load.number, restored), &self.informers);
        self.informers.start();
        if !first {
            add_one(&plugin.core.counters.reloads_ok);
        }
        let shown = running(&prepared, &ids, &load.sha256);
        plugin.core.took_over(shown, Timestamp::now());
        let (sha256, version) = (load.short_hash(), &descriptor.version);
        info!(plugin = load.name.as_str(), sha256, version, "{}", load.success(first));
        plugin.took_over(load.loaded(prepared), load.is_rollback);
        plugin.starting = None;
        plugin.hold_to_settings(&load.name);
        (plugin.standby, plugin.warm) = (None, None);
    }
}
