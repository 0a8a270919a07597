//! Entries that are damaged, foreign or too many; directories that other users can write to; hosts that share a
//! directory.

use super::*;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

const LARGE: u64 = 1 << 20;

fn options(root: &TempDir, bytes_max: u64) -> CodeCacheOptions {
    CodeCacheOptions { directory: root.path().join("cache"), bytes_max }
}

fn cache(root: &TempDir, bytes_max: u64) -> CodeCache {
    CodeCache::open(options(root, bytes_max)).expect("the directory is new")
}

fn key(name: &str) -> CodeKey {
    CodeKey(name.to_owned())
}

fn keep(cache: &CodeCache, name: &str, code: &[u8]) {
    // An entry that is too large, or cannot be written, is missing later.
    let _ = cache.put(&key(name), code);
}

fn found(cache: &CodeCache, name: &str) -> Option<Vec<u8>> {
    cache.content(&key(name))
}

fn files(root: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(root.path().join("cache")).expect("the directory");
    let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_was_kept_is_found_and_nothing_else() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let first = cache(&root, LARGE);
    keep(&first, "a", b"code");
    assert_eq!(found(&first, "a").as_deref(), Some(b"code".as_slice()));
    assert_eq!(found(&first, "b"), None);
    let next = cache(&root, LARGE);
    assert_eq!(found(&next, "a").as_deref(), Some(b"code".as_slice()), "the key is kept, too");
    assert_eq!(files(&root), ["a.code", "key"]);
}

/// Damages an entry. The cache then removes it and can keep it again.
#[track_caller]
fn check_unusable(spoil: impl FnOnce(&Path)) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let cache = cache(&root, LARGE);
    keep(&cache, "a", b"some code");
    spoil(&cache.directory.join("a.code"));
    assert_eq!(found(&cache, "a"), None);
    keep(&cache, "a", b"some code");
    assert_eq!(found(&cache, "a").as_deref(), Some(b"some code".as_slice()));
}

fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("the entry");
    change(&mut bytes);
    fs::write(path, bytes).expect("the entry");
}

/// Invariant 31.
#[test]
fn an_entry_that_was_changed_is_not_used() {
    for at in [0, FORMAT.len(), FORMAT.len() + MARK_BYTES, FORMAT.len() + MARK_BYTES + 8] {
        check_unusable(|path| rewrite(path, |bytes| bytes[at] ^= 1));
    }
    check_unusable(|path| rewrite(path, |bytes| bytes.push(0)));
}

#[test]
fn an_entry_that_was_cut_off_is_not_used() {
    for length in [0, 1, FORMAT.len(), FORMAT.len() + MARK_BYTES, FORMAT.len() + MARK_BYTES + 8] {
        check_unusable(|path| rewrite(path, |bytes| bytes.truncate(length)));
    }
}

/// Invariant 31.
#[test]
fn an_entry_of_another_name_or_key_is_not_used() {
    check_unusable(|path| {
        let other = tempfile::tempdir().expect("a temporary directory");
        let strange = cache(&other, LARGE);
        keep(&strange, "a", b"other code");
        fs::copy(strange.directory.join("a.code"), path).expect("a copy");
    });
    let root = tempfile::tempdir().expect("a temporary directory");
    let cache = cache(&root, LARGE);
    keep(&cache, "b", b"the code of b");
    fs::rename(cache.directory.join("b.code"), cache.directory.join("a.code")).expect("a rename");
    assert_eq!(found(&cache, "a"), None);
}

#[test]
fn an_entry_that_others_can_write_or_that_is_a_link_is_not_used() {
    check_unusable(|path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o622)).expect("a mode");
    });
    check_unusable(|path| {
        let elsewhere = path.with_file_name("elsewhere");
        fs::rename(path, &elsewhere).expect("a rename");
        std::os::unix::fs::symlink(elsewhere, path).expect("a link");
    });
}

/// Opening reports the problem of the directory.
#[track_caller]
fn check_refused(spoil: impl FnOnce(&Path), problem: &str) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = cache(&root, LARGE).directory;
    spoil(&directory);
    let error = CodeCache::open(options(&root, LARGE)).err().expect("it is refused").to_string();
    assert!(error.contains(problem), "{error}");
}

#[test]
fn a_directory_that_others_can_use_is_refused() {
    let mode = |mode| {
        move |path: &Path| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
    };
    check_refused(mode(0o755), "it is open to others (mode 755): chmod 700 it; name another");
    check_refused(mode(0o1777), "it is open to others (mode 1777)");
    check_refused(|at| mode(0o640)(&at.join("key")), "key is open to others (mode 640): chmod 600");
}

#[test]
fn a_directory_of_another_user_is_refused() {
    let us = rustix::process::geteuid();
    // Only root can give a directory away; another user owns no directory of root's.
    if us.is_root() {
        let give = |at: &Path| std::os::unix::fs::chown(at, Some(65_532), None).expect("root may");
        check_refused(give, "it belongs to user 65532 and not to user 0");
    } else {
        let options = CodeCacheOptions { directory: "/usr".into(), bytes_max: LARGE };
        let error = CodeCache::open(options).err().expect("it is refused").to_string();
        assert!(error.contains("it belongs to user 0"), "{error}");
    }
}

#[test]
fn what_is_no_directory_or_has_no_key_is_refused() {
    let replace = |at: &Path| {
        fs::remove_dir_all(at).expect("the directory");
        fs::write(at, "").expect("a file");
    };
    check_refused(replace, "it is no directory");
    check_refused(|at| fs::write(at.join("key"), "short").expect("a key"), "its key is damaged");
}

#[test]
fn what_was_not_used_for_longest_makes_room() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let entry = FORMAT.len() + MARK_BYTES + 100;
    let cache = cache(&root, 3 * entry as u64);
    let long_ago = SystemTime::now() - Duration::from_secs(1_000);
    for (age, name) in ["a", "b", "c"].into_iter().enumerate() {
        keep(&cache, name, &[0; 100]);
        let file = fs::File::open(cache.directory.join(format!("{name}.code"))).expect("the entry");
        file.set_modified(long_ago + Duration::from_secs(age as u64)).expect("a time");
    }
    assert!(found(&cache, "a").is_some(), "it is used");
    keep(&cache, "d", &[0; 100]);
    assert_eq!(files(&root), ["a.code", "c.code", "d.code", "key"]);
    keep(&cache, "e", &[0; 300]);
    assert_eq!(files(&root), ["e.code", "key"], "two made room, and a third");
    keep(&cache, "f", &[0; 1_000]);
    assert_eq!(files(&root), ["e.code", "key"], "what alone is too large is not kept");
}

#[test]
fn what_nobody_will_finish_is_removed() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let cache = cache(&root, LARGE);
    for (name, age) in [("old", UNFINISHED_MAX * 2), ("new", UNFINISHED_MAX / 2)] {
        let path = cache.directory.join(format!("{name}{UNFINISHED_ENDING}"));
        let file = private_files::create(&path).expect("a file");
        file.set_modified(SystemTime::now() - age).expect("a time");
    }
    keep(&cache, "a", b"code");
    assert_eq!(files(&root), ["a.code", "key", "new.unfinished"]);
}

#[test]
fn hosts_that_begin_at_the_same_time_share_one_key() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let barrier = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (root, barrier) = (&root, &barrier);
            scope.spawn(move || {
                barrier.wait();
                let cache = cache(root, LARGE);
                keep(&cache, "shared", b"the same code");
                keep(&cache, &number.to_string(), b"code");
                assert_eq!(found(&cache, "shared").as_deref(), Some(b"the same code".as_slice()));
            });
        }
    });
    let last = cache(&root, LARGE);
    for number in 0..8 {
        assert!(found(&last, &number.to_string()).is_some(), "{number}");
    }
}
