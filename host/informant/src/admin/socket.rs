//! The file of the admin socket: its path, its permissions, and the replacement of a file that an ended host left.

use super::routes::{self, AdminState};
use crate::http::{Bounds, Transport, WATCHES_MAX, own_thread, serve};
use crate::metrics::RefusedCounts;
use anyhow::{Context, Result, anyhow, bail};
use axum::{Router, middleware};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::error;

/// Read and write for the host's user, nothing for other users.
const MODE: u32 = 0o600;

/// The attempts to take the lock, and the time between two of them. Another host's turn lasts for milliseconds.
const TURN_LOOKS: u32 = 40;
const TURN_LOOK: Duration = Duration::from_millis(50);

/// A socket that listens. Dropping it removes its file.
pub(crate) struct AdminSocket {
    path: PathBuf,
    /// Device and inode number of this socket's file. The file of another host may replace it.
    file: (u64, u64),
    listener: Option<StdListener>,
}

/// The default path: one for each user, in a directory that only this user can open.
pub(crate) fn default_path() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|directory| !directory.is_empty()) {
        Some(directory) => Path::new(&directory).join("informant.sock"),
        None => {
            let directory = format!("informant-{}", geteuid().as_raw());
            std::env::temp_dir().join(directory).join("admin.sock")
        }
    }
}

impl AdminSocket {
    /// Listens at the path. Replaces the file of an ended host, but not that of a running host. Blocks for up to two
    /// seconds, while another process has the directory's lock.
    pub(crate) fn listen(path: &Path) -> Result<Self> {
        let mut looks = 0;
        let wait = || {
            std::thread::sleep(TURN_LOOK);
            looks += 1;
            looks < TURN_LOOKS
        };
        Self::listen_in_turn(path, wait)
    }

    fn listen_in_turn(path: &Path, wait: impl FnMut() -> bool) -> Result<Self> {
        let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        own_directory(directory, path == default_path())?;
        let turn = Turn::take(directory, wait)?;
        make_room(path, &turn)?;
        // The socket has a temporary name until only the host's user can open it.
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = directory.join(format!(".{file_name}.{}", std::process::id()));
        let bound = bind(&temporary).and_then(|listener| {
            // Unlike a rename, a hard link fails if another host has already created the file.
            std::fs::hard_link(&temporary, path)?;
            Ok((listener, identity(path)?))
        });
        // The temporary file is missing if it could not be created.
        let _ = std::fs::remove_file(&temporary);
        let (listener, file) =
            bound.with_context(|| format!("cannot listen on {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file, listener: Some(listener) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Serves its own paths, and these to read, until `shutdown`. Then it lets the current requests end. It has a thread
    /// of its own, so that no caller delays events.
    pub(crate) async fn serve(
        mut self,
        shared: AdminState,
        read: Router,
        shutdown: CancellationToken,
        refused: Arc<RefusedCounts>,
    ) {
        self.serve_routes(routes::router(shared).merge(read), shutdown, refused).await;
    }

    async fn serve_routes(
        &mut self,
        routes: Router,
        shutdown: CancellationToken,
        refused: Arc<RefusedCounts>,
    ) {
        let Some(listener) = self.listener.take() else { return };
        let within = middleware::from_fn_with_state(Handle::current(), own_thread::within);
        let router = routes.layer(within);
        let bounds = Bounds::admin().with_watches(WATCHES_MAX);
        let serve = async move || {
            let listener = UnixListener::from_std(listener)?;
            serve(listener, Transport::Plain, router, |_| false, shutdown, bounds, refused).await;
            Ok(())
        };
        if let Err(error) = own_thread::run("admin", serve).await.flatten() {
            error!("the admin socket is not served: {error:#}");
        }
    }
}

impl Drop for AdminSocket {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            // The file may already be gone.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

fn bind(path: &Path) -> std::io::Result<StdListener> {
    let listener = StdListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(MODE))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Creates the directory of the default path. It must belong to this user alone: in a directory that all users may
/// write, another user may have created it.
fn own_directory(directory: &Path, default: bool) -> Result<()> {
    if default {
        match std::fs::DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(error).with_context(|| format!("cannot make {}", directory.display()));
            }
            _ => {}
        }
    }
    let metadata = std::fs::symlink_metadata(directory).with_context(|| {
        format!("the directory {} of the admin socket cannot be used", directory.display())
    })?;
    if default && !is_ours(&metadata) {
        return Err(of_others(directory));
    }
    Ok(())
}

fn is_ours(metadata: &std::fs::Metadata) -> bool {
    metadata.is_dir() && metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// The default path, for a client. An error if another user created the directory, because that user's server would
/// answer.
pub(crate) fn default_path_of_ours() -> Result<PathBuf> {
    let path = default_path();
    let directory = path.parent().map(std::fs::symlink_metadata);
    if let Some(Ok(metadata)) = directory
        && !is_ours(&metadata)
    {
        return Err(of_others(path.parent().unwrap_or(&path)));
    }
    Ok(path)
}

fn of_others(directory: &Path) -> anyhow::Error {
    anyhow!(
        "the directory {} of the admin socket belongs to another user, or others may write to it; name a socket with --admin-socket",
        directory.display()
    )
}

/// A turn that one host holds at a time. Without it, of two hosts that start together, one could remove the other's
/// socket: it had found a socket that refused connections at that path.
struct Turn {
    _locked: File,
}

impl Turn {
    /// Waits until no other host holds the turn for this directory, or until `wait`, which is called between two looks, is
    /// false. Whoever can read the directory can hold its lock for ever.
    fn take(directory: &Path, mut wait: impl FnMut() -> bool) -> Result<Self> {
        let shown = directory.display();
        let cannot = || format!("cannot lock {shown} for the admin socket");
        let opened = File::open(directory).with_context(cannot)?;
        loop {
            match flock(&opened, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _locked: opened }),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if wait() => {}
                Err(Errno::WOULDBLOCK) => bail!(
                    "another process holds the lock of the directory {shown} of the admin socket; end that process, or name a socket in another directory with --admin-socket"
                ),
                Err(error) => return Err(error).with_context(cannot),
            }
        }
    }
}

/// Removes the socket file of an ended host.
fn make_room(path: &Path, _: &Turn) -> Result<()> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let text = || format!("the admin socket {} cannot be looked at", path.display());
            return Err(error).with_context(text);
        }
    };
    use std::os::unix::fs::FileTypeExt as _;
    if !metadata.file_type().is_socket() {
        bail!(
            "{} is there and is no socket; name another path with --admin-socket",
            path.display()
        );
    }
    match StdStream::connect(path) {
        Ok(_) => bail!(
            "another host listens on {}; name another path with --admin-socket or INFORMANT_ADMIN_SOCKET, for this host and the commands",
            path.display()
        ),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
        }
        Err(error) => Err(error).with_context(|| {
            format!("cannot find out whether another host listens on {}", path.display())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    /// Longer than any answer takes on a busy machine. A thread that never answers fails the test.
    const READ_MAX: Duration = Duration::from_secs(60);

    fn listen(path: &Path) -> String {
        match AdminSocket::listen(path) {
            Ok(socket) => {
                let mode = std::fs::metadata(socket.path()).expect("it is there").mode();
                format!("{:o}", mode & 0o777)
            }
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn a_lock_that_somebody_holds_is_an_error_with_its_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        let held = Turn::take(directory.path(), || false).expect("it is free");
        let error = Turn::take(directory.path(), || false).err().expect("it is held").to_string();
        let shown = directory.path().display().to_string();
        assert!(error.contains(&shown) && error.contains("--admin-socket"), "{error}");
        drop(held);
        Turn::take(directory.path(), || false).expect("it is free again");
    }

    #[tokio::test]
    async fn only_its_user_may_open_it_and_its_file_goes_with_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.sock");
        assert_eq!(listen(&path), "600");
        assert_eq!(directory.path().read_dir().expect("it is there").count(), 0);
    }

    #[tokio::test]
    async fn what_an_ended_host_left_is_replaced_and_what_a_running_one_has_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.sock");
        drop(StdListener::bind(&path).expect("a socket"));
        assert_eq!(listen(&path), "600");
        let first = AdminSocket::listen(&path).expect("it listens");
        assert!(listen(&path).starts_with("another host listens on "));
        std::fs::remove_file(&path).expect("it was there");
        let successor = AdminSocket::listen(&path).expect("it listens");
        drop(first);
        assert!(path.exists(), "it is another's now");
        drop(successor);
        std::fs::write(&path, "precious").expect("a file");
        assert!(listen(&path).contains("is there and is no socket"));
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "precious");
    }

    #[tokio::test]
    async fn requests_need_no_other_thread_of_the_host() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.sock");
        let mut socket = AdminSocket::listen(&path).expect("it listens");
        let routes = Router::new().fallback(async || "an answer");
        let shutdown = CancellationToken::new();
        let stop = shutdown.clone();
        let serving = tokio::spawn(async move {
            socket.serve_routes(routes, stop, Arc::default()).await;
        });
        tokio::task::yield_now().await;
        // The only thread of this runtime waits here.
        let mut client = StdStream::connect(&path).expect("it listens");
        client.set_read_timeout(Some(READ_MAX)).expect("a deadline");
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("sent");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("it answers");
        assert!(answer.ends_with("an answer"), "{answer}");
        shutdown.cancel();
        serving.await.expect("it ends");
    }

    #[test]
    fn of_hosts_that_start_together_one_has_its_turn() {
        let directory = tempfile::tempdir().expect("a directory");
        let other = File::open(directory.path()).expect("it is there");
        let may_take = || flock(&other, FlockOperation::NonBlockingLockExclusive).is_ok();
        let turn = Turn::take(directory.path(), || false).expect("nobody has it");
        assert!(!may_take());
        drop(turn);
        assert!(may_take());
    }

    #[test]
    fn a_host_looks_at_what_is_there_in_its_turn() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.sock");
        drop(StdListener::bind(&path).expect("a socket"));
        let mut turn = Some(Turn::take(directory.path(), || false).expect("nobody has it"));
        let mut first = None;
        // While the second waits, the first takes the place of what it found.
        let wait = || {
            let turn = turn.take().expect("it waits for one turn");
            make_room(&path, &turn).expect("nobody listens");
            first = Some(StdListener::bind(&path).expect("a socket"));
            true
        };
        let second = AdminSocket::listen_in_turn(&path, wait).err().expect("it is refused");
        let second = second.to_string();
        assert!(first.is_some() && second.starts_with("another host listens on "), "{second}");
    }

    #[tokio::test]
    async fn a_directory_that_is_not_there_is_named() {
        let expect = "the directory /nowhere of the admin socket cannot be used: No such file";
        let found = listen(Path::new("/nowhere/a.sock"));
        assert!(found.starts_with(expect), "{found}");
    }
}
