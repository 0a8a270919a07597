//! The watched directories. A file event only starts a scan; the files decide.

mod content;
mod debounce;
mod file_id;
mod follow;
mod plugin_files;
mod problem;
mod read_file;
mod wanted;
mod watch;

#[cfg(test)]
mod tests;

pub(crate) use content::Content;
pub(crate) use file_id::FileKind;
pub(crate) use follow::Directories;
pub use plugin_files::plugin_files;
pub(crate) use plugin_files::{PLUGINS_MAX, PluginFile};
pub(crate) use problem::{LoggedProblems, Problem};
pub use read_file::read_configuration;
pub(crate) use read_file::{FILE_BYTES_MAX, read_file};
pub(crate) use wanted::{ConfigurationFile, Decision, PluginChange};
