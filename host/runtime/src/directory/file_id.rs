//! Which file of a plugin: a name has two, `NAME.wasm` and beside it `NAME.yaml`, and both are followed alike.

use super::read_file::FILE_BYTES_MAX;
use crate::contract::configuration::CONFIGURATION_BYTES_MAX;
use crate::plugin_name::PluginName;
use std::fmt;

/// One of the files that a plugin's name may have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId {
    pub(crate) name: PluginName,
    pub(crate) kind: FileKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileKind {
    /// What runs.
    Plugin,
    /// What it runs with.
    Configuration,
}

impl FileId {
    pub(crate) fn plugin(name: &PluginName) -> Self {
        Self { name: name.clone(), kind: FileKind::Plugin }
    }

    pub(crate) fn configuration(name: &PluginName) -> Self {
        Self { name: name.clone(), kind: FileKind::Configuration }
    }

    /// The plugin's file, of this one or of the one that this is beside.
    pub(crate) fn of_plugin(&self) -> Self {
        Self::plugin(&self.name)
    }

    pub(crate) fn is_plugin(&self) -> bool {
        self.kind == FileKind::Plugin
    }
}

impl FileKind {
    /// Nothing sensible is larger.
    pub(super) fn bytes_max(self) -> u64 {
        match self {
            Self::Plugin => FILE_BYTES_MAX,
            Self::Configuration => CONFIGURATION_BYTES_MAX as u64,
        }
    }

    pub(super) fn too_large(self, bytes: u64) -> String {
        let max = self.bytes_max();
        match self {
            Self::Plugin => format!(
                "it has {bytes} bytes, and a plugin has at most {max}; build it for size, without debug \
                 information"
            ),
            Self::Configuration => {
                format!("it has {bytes} bytes, and a configuration has at most {max}")
            }
        }
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FileKind::Plugin => self.name.fmt(f),
            FileKind::Configuration => write!(f, "{}.yaml", self.name),
        }
    }
}
