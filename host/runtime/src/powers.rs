//! A plugin's requests outside the host: the senders, which all plugins share, and the settings of
//! one version, which grant requests.

pub(crate) mod access;
pub(crate) mod exchange;
pub(crate) mod restriction;

use crate::contract::configuration::PluginSettings;
use crate::counters::Counters;
use crate::namespace_labels::NamespaceLabels;
use crate::origin::Origin;
use crate::outside::cluster_writer::NoCluster;
use crate::outside::event_recorder::EventRecorder;
use crate::outside::http_client::NoHttp;
use crate::outside::leading::Leading;
use crate::outside::turns::{HttpTurns, WriteTurns};
use crate::outside::write::{SecretGuesses, Write};
use crate::powers::restriction::{Restriction, check_name};
use crate::trace::Tracer;
use informant_apimachinery::LabelSelector;
use parking_lot::Mutex;
use std::sync::Arc;

/// The senders of requests, which all plugins share.
#[derive(Clone)]
pub(crate) struct Powers {
    pub(crate) cluster: WriteTurns,
    pub(crate) http: HttpTurns,
    pub(crate) events: EventRecorder,
    pub(crate) guesses: Arc<Mutex<SecretGuesses>>,
    /// `None`: the host makes no traces.
    pub(crate) tracer: Option<Tracer>,
}

/// The powers of one version of a plugin.
#[derive(Clone)]
pub(crate) struct PluginPowers {
    pub(crate) powers: Powers,
    pub(crate) settings: Arc<PluginSettings>,
    /// A newer configuration, which must grant each request too.
    pub(crate) restriction: Restriction,
    pub(crate) counters: Arc<Counters>,
    /// The namespaces, if a grant depends on their labels.
    pub(crate) namespaces: Option<Arc<Origin>>,
}

impl Powers {
    /// Powers that send nothing, for commands that run no plugin.
    pub(crate) fn none() -> Self {
        let cluster = WriteTurns::new(Arc::new(NoCluster), Leading::default());
        let (events, _) = EventRecorder::new(cluster.clone());
        let http = HttpTurns::new(Arc::new(NoHttp), Leading::default());
        Self { cluster, http, events, guesses: Arc::default(), tracer: None }
    }

    /// The powers of a version with these settings.
    pub(crate) fn of(
        &self,
        settings: &Arc<PluginSettings>,
        restriction: &Restriction,
        counters: &Arc<Counters>,
    ) -> PluginPowers {
        PluginPowers {
            powers: self.clone(),
            settings: settings.clone(),
            restriction: restriction.clone(),
            counters: counters.clone(),
            namespaces: None,
        }
    }
}

impl PluginPowers {
    /// Adds the namespaces, by whose labels a grant may hold.
    pub(crate) fn seeing(self, namespaces: Option<Arc<Origin>>) -> Self {
        Self { namespaces, ..self }
    }

    /// Checks the grant of a write. An error has the line that would give it.
    pub(crate) fn check_write(&self, plugin: &str, write: &Write) -> Result<(), String> {
        let refusal = |selector: &_, namespace: &_| self.label_refusal(selector, namespace);
        self.settings.writes.check_write(plugin, write, &refusal)?;
        match self.restriction.settings() {
            Some(later) => {
                check_name(&self.settings, &later)?;
                self.restriction.check_file(&self.settings)?;
                later.writes.check_write(plugin, write, &refusal)
            }
            None => Ok(()),
        }
    }

    /// The reason for which a grant does not hold in a namespace: its labels of this moment. Without labels, no such
    /// grant holds.
    fn label_refusal(&self, selector: &LabelSelector, namespace: &str) -> Option<String> {
        match &self.namespaces {
            Some(namespaces) if namespaces.has_synced() => {
                // The plugin gets the text, and it may not read namespaces.
                NamespaceLabels::new(selector, namespaces.indexer()).refusal(namespace, false)
            }
            _ => Some(format!(
                "namespaceSelector {selector}: the labels of namespaces are not known"
            )),
        }
    }

    /// Checks whether a write may be tried in a dry run.
    pub(crate) fn check_dry_run(&self, plugin: &str, write: &Write) -> Result<(), String> {
        let later = self.restriction.settings();
        let is_granted =
            self.settings.dry_run_by_host || later.is_some_and(|later| later.dry_run_by_host);
        match self.is_dry_run() && write.what.is_secrets() && !is_granted {
            false => Ok(()),
            true => Err(format!(
                "a dry run of a write of a Secret is not granted, because it would tell what is in it and leave no trace; to grant it, write dryRun: true under plugins.{plugin} in the host's own configuration (--config)"
            )),
        }
    }

    /// Whether writes change nothing, and only requests that read are sent.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.settings.dry_run || self.restriction.settings().is_some_and(|later| later.dry_run)
    }
}
