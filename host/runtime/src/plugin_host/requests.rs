//! Requests to the running plugin host.

use super::PluginHost;
use crate::counted::counted;
use crate::kept::archive::{Archive, ArchiveKey, Changes};
use crate::plugin::Plugin;
use crate::plugin::admin::{Action, AdminError, Reply, Request};
use crate::plugin::loads::{AbsentPurge, StepOutcome};
use crate::plugin::prepare::Code;
use crate::plugin_name::PluginName;
use std::time::Duration;
use tokio::time::timeout;

/// How long an answer waits until the change is written. A plugin above its rate may have to wait for longer.
const WRITTEN_WAIT: Duration = Duration::from_secs(2);
const WRITTEN_LATER: &str = " (not in the state directory yet: the plugin is above limits.stateWrites, or the disk is slow)";
/// A note in an answer if the change may be lost.
const NOT_WRITTEN: &str =
    " (the state directory cannot be written now: this may not outlive the host)";

impl PluginHost {
    /// Carries out a request. A load answers at its end, a pause when the plugin's actors have handled it.
    pub(super) fn answer(&mut self, request: Request) {
        let Request { name, action, reply } = request;
        if let (false, Action::Redrive(_) | Action::Fire(_)) = (self.leads, &action) {
            let text = "this host is on standby; ask the one that leads";
            return tell(None, Err(AdminError::Refused(text.to_owned())), reply);
        }
        let answer = match self.plugins.get_mut(&name) {
            None => return self.answer_for_absent(name, action, reply),
            Some(plugin) => match action {
                Action::Reload => return self.reload(&name, reply),
                Action::Rollback => return self.rollback(&name, reply),
                Action::Pause => return self.hold(&name, true, reply),
                Action::Resume => return self.hold(&name, false, reply),
                Action::Fire(schedule) => plugin.fire(schedule.as_deref()),
                Action::Redrive(selection) => plugin.redrive(&selection),
                Action::Purge(selection) => Ok(plugin.purge(&selection)),
            },
        };
        tell(self.archive().map(|archive| (archive, name)), answer, reply);
    }

    /// For an absent plugin, only its kept data can be changed.
    fn answer_for_absent(&mut self, name: PluginName, action: Action, reply: Reply) {
        let (Action::Purge(selection), Some(archive)) = (action, self.archive()) else {
            return tell(None, Err(AdminError::NoSuchPlugin(name)), reply);
        };
        self.loads.spawn_read(async move {
            let kept = archive.read(&name).await;
            AbsentPurge { name, selection, reply, kept }
        });
    }

    /// Purges the kept data, if the plugin is still absent.
    pub(super) fn purge_absent(&mut self, outcome: StepOutcome) {
        let StepOutcome::Absent(purge) = outcome else { return };
        let AbsentPurge { name, selection, reply, kept } = *purge;
        if let Some(plugin) = self.plugins.get(&name) {
            let text = "its file is there again and is being loaded; try again in a second";
            let answer = match plugin.remembers() {
                true => Ok(plugin.purge(&selection)),
                false => Err(AdminError::Refused(text.to_owned())),
            };
            return tell(self.archive().map(|archive| (archive, name)), answer, reply);
        }
        let kept = kept.filter(|kept| kept.head.is_some());
        let (Some(kept), Some(archive)) = (kept, self.archive()) else {
            return tell(None, Err(AdminError::NoSuchPlugin(name)), reply);
        };
        let letters = kept.letters.iter().filter(|letter| selection.contains(letter));
        let changes: Changes =
            letters.map(|letter| ((name.clone(), ArchiveKey::Letter(letter.id)), None)).collect();
        let answer = format!("{} thrown away", counted(changes.len(), "dead letter"));
        archive.put(changes);
        tell(Some((archive, name)), Ok(answer), reply);
    }

    /// Pauses or resumes the plugin.
    fn hold(&mut self, name: &PluginName, paused: bool, reply: Reply) {
        let archive = self.archive().map(|archive| (archive, name.clone()));
        let Some(plugin) = self.plugins.get_mut(name) else { return };
        let note = if self.leads { "" } else { " here; this host is on standby" };
        let done = move |held: Result<(), AdminError>| {
            let text = if paused { "paused; its events wait" } else { "resumed" };
            tell(archive, held.map(|()| format!("{text}{note}")), reply);
        };
        plugin.pause(paused, Box::new(done));
    }

    /// Reads the file once more, as if it had changed.
    fn reload(&mut self, name: &PluginName, reply: Reply) {
        let Some(plugin) = self.plugins.get_mut(name) else { return };
        plugin.asked.reload(reply);
        self.directories.load_again(name);
    }

    /// Answers the callers whose reload the last scan did not bring: the reload will not come.
    pub(super) fn refuse_reloads(&mut self) {
        for (name, plugin) in &mut self.plugins {
            if !self.directories.is_to_load_again(name) {
                let text = format!("its file cannot be read now; {}", goes_on(plugin));
                plugin.asked.not_read(&Err(AdminError::Refused(text)));
            }
        }
    }

    /// Puts the version before in charge, with the present configuration.
    fn rollback(&mut self, name: &PluginName, reply: Reply) {
        let Some(plugin) = self.plugins.get_mut(name) else { return };
        let loads = !plugin.is_at_rest() || self.directories.is_to_load_again(name);
        let refused = match plugin.previous {
            _ if loads => Some("a version is being loaded; try again when that has ended"),
            None => Some("there is no version before this one since the host started"),
            Some(_) => None,
        };
        if let Some(text) = refused {
            let text = format!("{text}; {}", goes_on(plugin));
            // The caller may be gone.
            let _ = reply.send(Err(AdminError::Refused(text)));
            return;
        }
        let Some(previous) = plugin.previous.clone() else { return };
        plugin.asked.began(reply);
        let mut load = self.begin_load(name, previous.sha256);
        load.is_rollback = true;
        self.prepare(load, Code::Compiled(previous.prepared.template));
    }
}

/// The version in charge, after a request that was refused.
fn goes_on(plugin: &Plugin) -> String {
    match plugin.runs() {
        Some(version) => format!("version {version} goes on"),
        None => "no version of it runs".to_owned(),
    }
}

/// Answers after the state directory has the change, so that the host's end does not undo it.
fn tell(kept: Option<(Archive, PluginName)>, answer: Result<String, AdminError>, reply: Reply) {
    // Invariant 23.
    match kept {
        Some((archive, name)) if answer.is_ok() => {
            _ = tokio::spawn(async move {
                let note = match timeout(WRITTEN_WAIT, archive.written(&name)).await {
                    Ok(true) => "",
                    Ok(false) => NOT_WRITTEN,
                    Err(_) => WRITTEN_LATER,
                };
                // The caller may be gone.
                let _ = reply.send(answer.map(|text| text + note));
            })
        }
        _ => _ = reply.send(answer),
    }
}
