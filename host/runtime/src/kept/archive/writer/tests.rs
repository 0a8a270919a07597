//! The thread over a disk that fails at the test's command.

use super::*;
use crate::kept::archive::disk::Disk;
use crate::kept::archive::handle::Inbox;
use crate::kept::archive::{ArchiveKey, ArchiveValue, Kept, NameRecord};
use bytes::Bytes;
use tokio::sync::oneshot;

fn plugin() -> PluginName {
    "p".parse().expect("a name")
}

/// Puts a value of so many megabytes at a key.
fn put(archive: &Archive, key: &str, megabytes: usize) {
    let content = ArchiveValue::State(Bytes::from(vec![1; megabytes << 20]));
    archive.put([((plugin(), ArchiveKey::State(key.into())), Some(content))].into());
}

fn remove(archive: &Archive, key: &str) {
    archive.put([((plugin(), ArchiveKey::State(key.into())), None)].into());
}

/// Whether all changes are on the disk.
async fn is_written(archive: &Archive) -> bool {
    archive.written(&plugin()).await
}

fn shown(kept: &Kept) -> String {
    let keys = kept.state.keys().map(|key| &**key);
    keys.collect::<Vec<_>>().join(" ")
}

async fn keys(archive: &Archive) -> Option<String> {
    archive.read(&plugin()).await.map(|kept| shown(&kept))
}

fn start(disk: &Disk) -> ArchiveThread {
    let on = disk.clone();
    let open: OpenStore = Box::new(move || on.try_open());
    ArchiveThread::over(state_thread(), disk.open(), open, Duration::MAX).unwrap()
}

/// Invariant 23.
#[tokio::test]
async fn a_disk_that_fails_is_told_of_and_written_when_it_works_again() {
    let disk = Disk::default();
    let thread = start(&disk);
    let archive = thread.archive();
    assert_eq!(keys(&archive).await.as_deref(), Some(""));
    put(&archive, "a", 0);
    assert!(is_written(&archive).await);
    disk.fail_after(0);
    put(&archive, "b", 0);
    assert!(!is_written(&archive).await);
    let status = archive.status();
    assert!(status.failed > 0 && status.waiting == 1, "{status:?}");
    assert!(status.error.is_some_and(|error| error.contains("no storage space")), "the reason");
    let (reply, mut answer) = oneshot::channel();
    archive.ask(&plugin(), Then::Read(reply));
    assert!(!is_written(&archive).await);
    // However much waits, only changes without an effect are dropped.
    put(&archive, "c", 15);
    put(&archive, "d", 2);
    put(&archive, "e", 2);
    remove(&archive, "e");
    assert!(!is_written(&archive).await);
    assert_eq!(archive.status().waiting, 3, "{:?}", archive.status());
    assert!(answer.try_recv().is_err(), "what is there cannot be said");
    disk.heal();
    assert!(is_written(&archive).await);
    assert_eq!(keys(&archive).await.as_deref(), Some("a b c d"));
    assert_eq!(answer.await.map(|kept| shown(&kept)).as_deref(), Ok("a b c d"), "in the end");
    let status = archive.status();
    assert_eq!((status.error, status.waiting, status.refused), (None, 0, 0));
    thread.stop().await;
}

/// Invariant 23.
#[tokio::test]
async fn a_file_that_is_no_longer_in_its_place_is_not_written_until_it_is_back() {
    let root = tempfile::tempdir().unwrap();
    let [directory, away] = ["state", "away"].map(|name| root.path().join(name));
    let options = |directory: &std::path::Path| StateDirectoryOptions {
        directory: directory.to_owned(),
        keep_removed: Duration::MAX,
    };
    let thread = ArchiveThread::start(options(&directory)).unwrap();
    let archive = thread.archive();
    put(&archive, "a", 0);
    assert!(is_written(&archive).await);
    std::fs::rename(&directory, &away).unwrap();
    put(&archive, "b", 0);
    assert!(!is_written(&archive).await, "it is where no host would look for it");
    let error = || archive.status().error.unwrap_or_default();
    assert!(error().contains("(No such file"), "{}", error());
    assert!(!is_written(&archive).await);
    assert!(!directory.exists(), "an empty one would hide the loss");
    check_state_directory(&options(&directory)).unwrap();
    assert!(!is_written(&archive).await);
    assert!(error().contains("(another file is there): move that file back"), "{}", error());
    assert!(archive.status().failed > 2 && archive.status().waiting == 1);
    std::fs::remove_dir_all(&directory).unwrap();
    std::fs::rename(&away, &directory).unwrap();
    assert!(is_written(&archive).await);
    assert_eq!(keys(&archive).await.as_deref(), Some("a b"));
    assert_eq!(archive.status().error, None);
    thread.stop().await;
}

#[tokio::test]
async fn what_failed_halfway_is_known_to_be_in_the_file_or_not() {
    for writes in 0..20 {
        let disk = Disk::default();
        let thread = start(&disk);
        let archive = thread.archive();
        put(&archive, "a", 0);
        assert!(is_written(&archive).await);
        disk.fail_after(writes);
        put(&archive, "b", 0);
        remove(&archive, "a");
        is_written(&archive).await;
        // A record in the file that the thread does not know would come back.
        remove(&archive, "b");
        is_written(&archive).await;
        disk.heal();
        assert!(is_written(&archive).await);
        assert_eq!(keys(&archive).await.as_deref(), Some(""), "after {writes} writes");
        thread.stop().await;
    }
}

#[tokio::test]
async fn what_was_put_before_the_end_is_written() {
    let disk = Disk::default();
    let thread = start(&disk);
    let archive = thread.archive();
    for key in ["a", "b", "c"] {
        put(&archive, key, 1);
    }
    thread.stop().await;
    let kept = disk.after(true).open().read(&plugin()).expect("it can be read");
    assert_eq!(kept.state.len(), 3);
    put(&archive, "d", 0);
    assert_eq!(archive.status().refused, 1, "nobody is there who would write it");
    assert!(keys(&archive).await.is_none(), "nor anybody who would answer");
}

#[test]
fn a_thread_that_the_system_refuses_is_an_error_with_advice() {
    let root = tempfile::tempdir().unwrap();
    let (directory, keep_removed) = (root.path().join("state"), Duration::MAX);
    let options = StateDirectoryOptions { directory: directory.clone(), keep_removed };
    // More than there are addresses.
    let refused = state_thread().stack_size(1 << 62);
    let error = ArchiveThread::start_as(refused, options.clone()).err().unwrap().to_string();
    let begin = format!(
        "the state directory {} cannot be used: its thread cannot be started: ",
        directory.display()
    );
    assert!(error.starts_with(&begin) && error.contains("allow this user more threads"), "{error}");
    check_state_directory(&options).expect("its file is closed");
}

#[tokio::test]
async fn a_thread_that_ends_by_a_defect_is_told_of_and_nobody_waits_for_it() {
    let disk = Disk::default();
    let store = disk.open();
    let open: OpenStore = Box::new(|| panic!("a defect of ours"));
    let thread = ArchiveThread::over(state_thread(), store, open, Duration::MAX).unwrap();
    let archive = thread.archive();
    disk.fail_after(0);
    put(&archive, "a", 0);
    assert!(!is_written(&archive).await);
    assert!(!is_written(&archive).await, "who asks what it cannot do any more is answered");
    assert!(!is_written(&archive).await, "as is who comes later");
    assert!(keys(&archive).await.is_none());
    let error = archive.status().error.expect("it is told");
    assert!(error.contains("start the host anew"), "{error}");
}

#[tokio::test]
async fn what_is_gone_is_noted_when_the_disk_works_again() {
    let disk = Disk::default();
    let keep = Duration::from_secs(60);
    let on = disk.clone();
    let open: OpenStore = Box::new(move || on.try_open());
    let thread = ArchiveThread::over(state_thread(), disk.open(), open, keep).unwrap();
    let archive = thread.archive();
    let head = ArchiveValue::Head(NameRecord::default());
    archive.put([((plugin(), ArchiveKey::Head), Some(head))].into());
    assert!(is_written(&archive).await);
    disk.fail_after(0);
    put(&archive, "a", 0);
    assert!(!is_written(&archive).await);
    archive.present(BTreeSet::new());
    assert!(!is_written(&archive).await);
    disk.heal();
    assert!(is_written(&archive).await && is_written(&archive).await);
    thread.stop().await;
    let kept = disk.open().read(&plugin()).expect("it can be read");
    assert!(kept.head.is_some_and(|head| head.gone.is_some()), "it is noted");
}

#[test]
fn requests_let_no_plugin_write_above_its_rate() {
    let (mut inbox, begin) = (Inbox::default(), Instant::now());
    let put = |inbox: &mut Inbox, plugin: &str| {
        let place = (plugin.parse().expect("a name"), ArchiveKey::State("a".into()));
        let content = ArchiveValue::State(Bytes::from(vec![1; 1 << 20]));
        inbox.pending.put([(place, Some(content))].into(), 1 << 20);
    };
    let mut callers = Vec::new();
    let mut ask = |inbox: &mut Inbox, plugin: &str| {
        let (reply, caller) = oneshot::channel();
        callers.push(caller);
        inbox.push(plugin.parse().expect("a name"), Then::Read(reply));
    };
    let write = |inbox: &mut Inbox, now: Instant| {
        let written = inbox.pending.take(false, now).len();
        let ready = inbox.take_ready().into_iter().map(|ask| ask.plugin.to_string());
        let ready = ready.collect::<Vec<_>>().join(" ");
        inbox.pending.written(now);
        (written, ready)
    };
    put(&mut inbox, "p");
    ask(&mut inbox, "p");
    assert_eq!(write(&mut inbox, begin), (1, "p".to_owned()), "it has written nothing lately");
    for plugin in ["p", "p", "q"] {
        put(&mut inbox, plugin);
        ask(&mut inbox, plugin);
        ask(&mut inbox, "r");
    }
    assert!(inbox.has_due_ask(false));
    assert_eq!(write(&mut inbox, begin), (1, "r r q r".to_owned()), "others do not wait for it");
    assert!(!inbox.has_due_ask(false), "it waits for its rate");
    let later = begin + Duration::from_secs(2);
    assert_eq!(write(&mut inbox, later), (1, "p p".to_owned()));
}
