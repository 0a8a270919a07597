//! What the host of the plugins is asked to do while it runs.

use super::PluginHost;
use crate::admin::{Action, AdminError, Reply, Request};
use crate::archive::Archive;
use crate::plugin_name::PluginName;

/// What is added to an answer where it may be forgotten.
const NOT_WRITTEN: &str =
    " (the state directory cannot be written now: this may not outlive the host)";

impl PluginHost {
    /// Does what was asked for. A load answers when it has ended, a pause when the plugin's actor has heard of it.
    pub(super) fn answer(&mut self, request: Request) {
        let Request { name, action, reply } = request;
        let answer = match self.plugins.get_mut(&name) {
            None => Err(AdminError::NoSuchPlugin(name)),
            Some(plugin) => match action {
                Action::Reload => return self.reload(&name, reply),
                Action::Rollback => return self.rollback(&name, reply),
                Action::Pause => return self.hold(&name, true, reply),
                Action::Resume => return self.hold(&name, false, reply),
                Action::Redrive(selection) => plugin.redrive(&selection),
                Action::Purge(selection) => Ok(plugin.purge(&selection)),
            },
        };
        tell(self.archive(), answer, reply);
    }

    /// Holds the plugin back, or lets it go on.
    fn hold(&mut self, name: &PluginName, paused: bool, reply: Reply) {
        let archive = self.archive();
        let Some(plugin) = self.plugins.get_mut(name) else { return };
        let done = move |held: Result<(), AdminError>| {
            let text = if paused { "paused; its events wait" } else { "resumed" };
            tell(archive, held.map(|()| text.to_owned()), reply);
        };
        plugin.pause(paused, Box::new(done));
    }

    /// Reads the file once more, as if it had changed.
    fn reload(&mut self, name: &PluginName, reply: Reply) {
        let Some(plugin) = self.plugins.get_mut(name) else { return };
        plugin.asked.reload(reply);
        self.directories.load_again(name);
    }

    /// Tells those whose reload the last look has not brought that it will not come.
    pub(super) fn refuse_reloads(&mut self) {
        for (name, plugin) in &mut self.plugins {
            if !self.directories.is_to_load_again(name) {
                let text = "its file cannot be read now; the version that runs goes on";
                plugin.asked.not_read(&Err(AdminError::Refused(text.to_owned())));
            }
        }
    }

    /// Puts the version before in charge.
    fn rollback(&mut self, name: &PluginName, reply: Reply) {
        let Some(plugin) = self.plugins.get_mut(name) else { return };
        let loads = plugin.load.is_some()
            || plugin.next.is_some()
            || self.directories.is_to_load_again(name);
        let refused = match plugin.previous {
            _ if loads => Some("a version is being loaded; try again when that has ended"),
            None => Some("there is no version before this one since the host started"),
            Some(_) => None,
        };
        if let Some(text) = refused {
            // Whoever asked may have gone.
            let _ = reply.send(Err(AdminError::Refused(text.to_owned())));
            return;
        }
        let Some(previous) = plugin.previous.clone() else { return };
        plugin.asked.began(reply);
        let load = self.begin_load(name, previous.sha256);
        self.take_over(load, previous.prepared);
    }
}

/// Answers: what is said to be done is not undone by the end of the host.
fn tell(archive: Option<Archive>, answer: Result<String, AdminError>, reply: Reply) {
    match archive {
        Some(archive) if answer.is_ok() => archive.when_written(move |is_written| {
            let note = if is_written { "" } else { NOT_WRITTEN };
            // Whoever asked may have gone.
            let _ = reply.send(answer.map(|text| text + note));
        }),
        _ => _ = reply.send(answer),
    }
}
