//! Directories and files that only the host's user can read and write.

use rustix::fs::{Mode, OFlags};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Makes the directory (mode 0700) if it is missing, and refuses one that other users can access.
pub(crate) fn make_directory(directory: &Path) -> io::Result<()> {
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(directory)?;
    if !metadata.is_dir() {
        return Err(io::Error::other("it is no directory"));
    }
    check_ours(&metadata, "it", "700")
}

/// Makes the directory as [`make_directory`] does, and opens it. Another directory that takes its path later is not
/// this one.
pub(crate) fn open_directory(directory: &Path) -> io::Result<File> {
    make_directory(directory)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(directory)?;
    check_ours(&opened.metadata()?, "it", "700")?;
    Ok(opened)
}

/// Makes a new file (mode 0600) of this name in the directory, for reading and writing.
pub(crate) fn create_in(directory: &File, name: &str) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let made = rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?;
    Ok(made.into())
}

/// Makes a new file (mode 0600) for reading and writing.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Syncs the directory's entries, and its entry in its parent, so that they survive a loss of power.
pub(crate) fn sync_entries(directory: &Path) -> io::Result<()> {
    let directory = fs::canonicalize(directory)?;
    for directory in directory.ancestors().take(2) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

/// Opens a file that only this user can have written, to read it, or to read and write it.
pub(crate) fn open(path: &Path, write: bool) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    let file = options.read(true).write(write).custom_flags(flags.bits() as i32).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other(format!("{} is no file", path.display())));
    }
    check_ours(&metadata, &path.display().to_string(), "600")?;
    Ok(file)
}

/// Checks that only this user can read and write the file.
fn check_ours(metadata: &Metadata, what: &str, mode: &str) -> io::Result<()> {
    let us = rustix::process::geteuid().as_raw();
    if metadata.uid() != us {
        let owner = metadata.uid();
        let text =
            format!("{what} belongs to user {owner} and not to user {us}, who runs the host");
        return Err(io::Error::other(text));
    }
    let found = metadata.mode() & 0o7777;
    if found & 0o077 != 0 {
        let text = format!("{what} is open to others (mode {found:03o}): chmod {mode} it");
        return Err(io::Error::other(text));
    }
    Ok(())
}
