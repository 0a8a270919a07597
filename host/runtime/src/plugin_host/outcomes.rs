//! The results of the steps of loads, and the next steps.

use super::PluginHost;
use crate::counters::add_one;
use crate::kept::archive::Kept;
use crate::one_line::{LOAD_ERROR_BYTES_MAX, one_line};
use crate::plugin::admin::AdminError;
use crate::plugin::lifecycle::Input;
use crate::plugin::loads::{Load, StepOutcome};
use crate::plugin::prepare::{Code, LoadError, Prepared};
use crate::plugin_name::PluginName;
use jiff::Timestamp;
use tracing::error;

impl PluginHost {
    /// Continues a load after a step, if its plugin still waits for it.
    pub(super) fn settle(&mut self, outcome: StepOutcome) {
        let load = match &outcome {
            StepOutcome::Read(load, _)
            | StepOutcome::Prepared(load, _)
            | StepOutcome::Swapped(load, _)
            | StepOutcome::Refused(load, _) => load.clone(),
            // A new plugin of the same name may wait for this end.
            StepOutcome::Stopped(name) => return self.load_next(name),
            StepOutcome::Drained(name, number) => return self.drained(name, *number),
            StepOutcome::Absent(_) | StepOutcome::Configured(..) => {
                return self.settle_beside(outcome);
            }
        };
        let waiting = self.plugins.get(&load.name).and_then(|plugin| plugin.load);
        if waiting != Some(load.number) {
            return;
        }
        let answer = match outcome {
            StepOutcome::Read(_, kept) => return self.remember(&load.name, kept),
            StepOutcome::Prepared(_, prepared) if self.is_superseded(&load.name, &prepared) => {
                return self.prepare(load, Code::Compiled(prepared.template));
            }
            StepOutcome::Prepared(_, prepared) if self.leads => {
                return self.take_over(load, prepared);
            }
            StepOutcome::Prepared(_, prepared) => return self.stand_by(load, prepared),
            StepOutcome::Swapped(_, took_over) => {
                let version = took_over.prepared.descriptor.version.clone();
                self.took_over(&load, *took_over);
                Ok(format!("version {version} ({}) took over", load.short_hash()))
            }
            StepOutcome::Refused(_, error) => {
                let reason = self.refused(&load, &error);
                let goes_on = self.plugins.get(&load.name).and_then(|plugin| plugin.runs());
                let goes_on = goes_on.map_or(String::new(), |it| format!("; version {it} goes on"));
                Err(AdminError::Refused(reason + &goes_on))
            }
            StepOutcome::Stopped(_)
            | StepOutcome::Drained(..)
            | StepOutcome::Absent(_)
            | StepOutcome::Configured(..) => return,
        };
        if let Some(plugin) = self.plugins.get_mut(&load.name) {
            (plugin.load, plugin.shards_ahead, plugin.starting) = (None, 0, None);
            // A version that did not take over restricts the one that runs no more.
            plugin.hold_to_settings(&load.name);
            if load.reads_kept_data() {
                // A defect ended the read, and would end it again.
                plugin.next = None;
                plugin.asked.ended(&answer);
            } else {
                plugin.asked.loaded(&answer);
            }
        }
        self.load_next(&load.name);
        // The version before may be ready.
        self.show_standby(&load.name);
    }

    /// Continues after a step that belongs to no load.
    fn settle_beside(&mut self, outcome: StepOutcome) {
        match outcome {
            StepOutcome::Configured(name, sidecar) => self.configured(&name, sidecar),
            outcome => self.purge_absent(outcome),
        }
    }

    /// Whether the plugin's settings changed since the version was prepared. The version never runs with old settings:
    /// it is prepared again, with its code.
    fn is_superseded(&self, name: &PluginName, prepared: &Prepared) -> bool {
        // Invariant 40.
        self.plugins.get(name).is_some_and(|plugin| !plugin.is_configured_as(prepared))
    }

    /// Keeps the running version, and reports the new version's error. Invariant 24.
    fn refused(&mut self, load: &Load, error: &LoadError) -> String {
        // The error may contain names from the file.
        let mut reason = one_line(&error.to_string(), LOAD_ERROR_BYTES_MAX).into_owned();
        let Some(plugin) = self.plugins.get_mut(&load.name) else { return reason };
        if error.is_want_of_room() {
            plugin.refuse_room();
            reason += "; it is loaded again if the plugin holds less";
        }
        if let Some(settings) = plugin.settings().filter(|_| error.is_of_plugin()) {
            reason = format!("{reason} ({})", settings.config_place(&load.name));
        }
        let input = match error {
            LoadError::NotGranted(_) => Input::NotGranted { reason: reason.clone() },
            _ => Input::LoadFailed { reason: reason.clone() },
        };
        plugin.core.refused(&load.sha256, &reason, input, Timestamp::now());
        let kept = match plugin.current.is_some() || plugin.standby.is_some() {
            true => "not loaded, the version before it goes on",
            false => "not loaded",
        };
        if plugin.current.is_some() {
            add_one(&plugin.core.counters.reloads_failed);
        }
        if load.reads_kept_data() {
            let again = format!("informant plugin reload {}", load.name);
            reason += &format!("; please report this; `{again}` tries again");
        }
        error!(plugin = load.name.as_str(), sha256 = load.short_hash(), "{kept}: {reason}");
        reason
    }

    /// Restores the kept data, before the plugin runs.
    fn remember(&mut self, name: &PluginName, kept: Option<Kept>) {
        let archive = self.archive();
        if let (Some(plugin), Some(archive)) = (self.plugins.get_mut(name), archive) {
            plugin.load = None;
            plugin.remember(name.as_str(), &archive, kept);
        }
        self.load_next(name);
    }
}
