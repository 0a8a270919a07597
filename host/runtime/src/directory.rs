//! The watched directories. They are the truth; file events only say that it is time to look.

mod content;
mod debounce;
mod follow;
mod plugin_file;
mod scan;
mod wanted;
mod watch;

#[cfg(test)]
mod tests;

pub(crate) use content::Content;
pub(crate) use follow::Directories;
pub(crate) use plugin_file::FILE_BYTES_MAX;
pub(crate) use scan::{PLUGINS_MAX, PluginFile, Problem};
pub(crate) use wanted::{Change, Decision};
