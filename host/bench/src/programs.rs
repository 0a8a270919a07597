//! Programs and plugins that are measured, where they were built.

use std::path::PathBuf;

use anyhow::Context;
use informant_e2e::paths;

use crate::subject::Subject;

/// What a run is for: the host's plugin depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Events are counted.
    Count,
    /// Every update's latency is told.
    Latency,
    /// Events are counted, of what each of many handlers subscribes to.
    Subscribe(Subject),
}

/// Programs and plugins, where they were built.
pub struct Programs {
    release: PathBuf,
    target: PathBuf,
}

impl Programs {
    /// Beside this program, and in the target directory.
    pub fn find() -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("where this program is")?;
        let release = own.parent().context("this program is nowhere")?.to_owned();
        Ok(Self { release, target: paths::target_directory() })
    }

    /// The load server.
    pub fn load_server(&self) -> PathBuf {
        self.release.join("bench-load-server")
    }

    /// client-go's program, if it was built.
    pub fn client_go(&self) -> Option<PathBuf> {
        let built = self.target.join("bench/client-go");
        built.exists().then_some(built)
    }

    pub(crate) fn informant(&self) -> PathBuf {
        self.release.join("informant")
    }

    /// A plugin of this subject's kind that has nothing to do, if there is such a kind; it may not be built.
    pub fn idle_plugin(&self, subject: Subject) -> Option<PathBuf> {
        let file = match subject {
            Subject::IdleRust => "plugins/counter.wasm",
            Subject::IdleText => "plugins/hello-wat.wasm",
            Subject::IdleC => "plugins-c/hello-c.wasm",
            _ => return None,
        };
        Some(self.target.join(file))
    }

    /// kube-rs' program.
    pub(crate) fn kube_rs(&self) -> PathBuf {
        self.release.join("bench-kube-rs")
    }

    /// The plugin that subscribes as its configuration says.
    pub(crate) fn subscriber(&self) -> PathBuf {
        self.target.join("bench/subscriber.wasm")
    }

    pub(crate) fn plugin(&self, purpose: Purpose) -> (&'static str, PathBuf) {
        match purpose {
            Purpose::Count => ("counter", self.target.join("plugins/counter.wasm")),
            Purpose::Latency => ("stamp", self.target.join("bench/stamp.wasm")),
            Purpose::Subscribe(_) => ("subscriber", self.subscriber()),
        }
    }
}
