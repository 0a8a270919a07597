//! The two files of a plugin: `NAME.wasm` and beside it `NAME.yaml`. The host follows both in the same way.

use super::read_file::FILE_BYTES_MAX;
use crate::contract::configuration::CONFIGURATION_BYTES_MAX;
use crate::plugin_name::PluginName;
use std::fmt;

/// One of the files of a plugin's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId {
    pub(crate) name: PluginName,
    pub(crate) kind: FileKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileKind {
    /// The plugin's code.
    Plugin,
    /// The plugin's configuration.
    Configuration,
}

impl FileId {
    pub(crate) fn plugin(name: &PluginName) -> Self {
        Self { name: name.clone(), kind: FileKind::Plugin }
    }

    pub(crate) fn configuration(name: &PluginName) -> Self {
        Self { name: name.clone(), kind: FileKind::Configuration }
    }

    /// The plugin file of the same name.
    pub(crate) fn of_plugin(&self) -> Self {
        Self::plugin(&self.name)
    }

    pub(crate) fn is_plugin(&self) -> bool {
        self.kind == FileKind::Plugin
    }
}

impl FileKind {
    /// The largest sensible file.
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
