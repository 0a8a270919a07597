//! The watched directories. They are the truth; file events only say that it is time to look.

mod content;
mod debounce;
mod file_id;
mod follow;
mod plugin_file;
mod rereads;
mod scan;
mod wanted;
mod watch;

#[cfg(test)]
mod tests;

pub(crate) use content::Content;
pub(crate) use file_id::FileKind;
pub(crate) use follow::Directories;
pub(crate) use plugin_file::{FILE_BYTES_MAX, read_file};
pub use scan::plugin_files;
pub(crate) use scan::{PLUGINS_MAX, PluginFile, Problem};
pub(crate) use wanted::{Change, ConfigurationFile, Decision};
