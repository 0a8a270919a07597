//! The file against a model that is too simple to be wrong, while the machine may end at any write; and unusable
//! directories.

use super::super::StateDirectoryOptions;
use super::super::disk::Disk;
use super::super::writer::check_state_directory;
use super::*;
use bytes::Bytes;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

fn name(number: u8) -> PluginName {
    format!("p{number}").parse().expect("a name")
}

type Model = BTreeMap<(u8, u8), u8>;
/// Plugin, key, value: `None` removes.
type Change = (u8, u8, Option<u8>);

fn changes(changes: &[Change]) -> Changes {
    let change = |(plugin, key, value): &Change| {
        let place = ArchiveKey::State(key.to_string().into());
        let content = value.map(|value| ArchiveValue::State(Bytes::from(vec![value; 3_000])));
        ((name(*plugin), place), content)
    };
    changes.iter().map(change).collect()
}

fn apply(model: &mut Model, changes: &[Change]) {
    for (plugin, key, value) in changes {
        match value {
            Some(value) => _ = model.insert((*plugin, *key), *value),
            None => _ = model.remove(&(*plugin, *key)),
        }
    }
}

fn read(store: &ArchiveStore) -> Model {
    let mut found = Model::new();
    for plugin in 0..3 {
        for (key, value) in store.read(&name(plugin)).expect("it can be read").state {
            assert!(value.len() == 3_000 && value.iter().all(|byte| *byte == value[0]));
            found.insert((plugin, key.parse().expect("a number")), value[0]);
        }
    }
    found
}

/// The actions of one host: transactions, and the number of writes to the disk within the last one after which the
/// host ends, if not by itself.
type Host = (Vec<Vec<Change>>, Option<usize>, bool);

fn host() -> impl Strategy<Value = Host> {
    let change = (0..3u8, 0..6u8, proptest::option::of(any::<u8>()));
    let transaction = proptest::collection::vec(change, 1..6);
    let transactions = proptest::collection::vec(transaction, 1..6);
    (transactions, proptest::option::of(0..12usize), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Written data survives any end of the host. The transaction under way is in the file as a whole or not at all.
    /// Invariant 23.
    #[test]
    fn every_transaction_is_whole_and_none_is_lost(hosts in proptest::collection::vec(host(), 1..5)) {
        let (mut disk, mut model) = (Disk::default(), Model::new());
        for (transactions, crash, power_is_lost) in hosts {
            let store = disk.open();
            prop_assert_eq!(&read(&store), &model);
            // Each host of this test counts from 1.
            store.write(&Changes::new(), 0).expect("the disk works");
            let mut maybe = None;
            for (number, transaction) in transactions.iter().enumerate() {
                if let Some(writes) = crash && number + 1 == transactions.len() {
                    disk.fail_after(writes);
                }
                let mut next = model.clone();
                apply(&mut next, transaction);
                match store.write(&changes(transaction), number as u64 + 1) {
                    Ok(()) => model = next,
                    Err(_) => maybe = Some(next),
                }
            }
            // The process is gone: its further writes have no effect.
            disk.fail_after(0);
            let found = disk.after(power_is_lost);
            drop(store);
            disk = found;
            if let Some(next) = maybe {
                let store = disk.open();
                let (found, number) = (read(&store), store.written().expect("it can be read"));
                let is_written = number == transactions.len() as u64;
                prop_assert_eq!(&found, if is_written { &next } else { &model });
                model = found;
            }
        }
    }
}

#[test]
fn plugins_do_not_see_each_others_entries() {
    let store = Disk::default().open();
    let put = |plugin: &str| {
        let place = ArchiveKey::State(plugin.into());
        let plugin = plugin.parse().expect("a name");
        ((plugin, place), Some(ArchiveValue::State(Bytes::new())))
    };
    store.write(&["a", "a.b", "ab", "a-b"].map(put).into(), 1).expect("it is written");
    for plugin in ["a", "a.b", "ab", "a-b"] {
        let kept = store.read(&plugin.parse().expect("a name")).expect("it can be read");
        assert_eq!(kept.state.keys().map(|key| &**key).collect::<Vec<_>>(), [plugin]);
    }
}

#[test]
fn what_belongs_to_a_plugin_that_is_gone_is_removed_after_a_while() {
    let store = Disk::default().open();
    let at = |second| Timestamp::from_second(second).expect("a time");
    let head = |plugin, gone| {
        let head = NameRecord { gone, ..NameRecord::default() };
        ((name(plugin), ArchiveKey::Head), Some(ArchiveValue::Head(head)))
    };
    let mut all = changes(&[(0, 0, Some(0)), (1, 1, Some(1)), (2, 2, Some(2))]);
    all.extend([head(0, None), head(1, None), head(2, Some(50))]);
    store.write(&all, 1).expect("it is written");
    store.note_gone(&[name(0)].into(), at(100)).expect("it is noted");
    // Noted once: another call does not change the time.
    store.note_gone(&[name(0)].into(), at(200)).expect("it is noted");
    let check = |before, removed: &[&str], left: &[(u8, u8)]| {
        assert_eq!(
            store.remove_gone(&[name(0)].into(), at(before)).expect("it is removed"),
            removed
        );
        assert_eq!(read(&store).into_keys().collect::<Vec<_>>(), left);
    };
    check(49, &[], &[(0, 0), (1, 1), (2, 2)]);
    check(99, &["p2"], &[(0, 0), (1, 1)]);
    check(100, &["p1"], &[(0, 0)]);
    // Data of present plugins stays, whatever the head says.
    store.write(&[head(0, Some(50))].into(), 2).expect("it is written");
    check(10_000, &[], &[(0, 0)]);
}

/// The error for a directory after `prepare`.
#[track_caller]
fn check_refused(prepare: impl FnOnce(&Path), expect: &[&str]) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = root.path().join("state");
    let options =
        StateDirectoryOptions { directory: directory.clone(), keep_removed: Duration::ZERO };
    check_state_directory(&options).expect("a new directory can be used");
    prepare(&directory);
    let error = check_state_directory(&options).expect_err("it cannot be used").to_string();
    for part in expect.iter().chain(&[&*directory.display().to_string()]) {
        assert!(error.contains(part), "no {part:?} in: {error}");
    }
}

#[test]
fn a_directory_that_cannot_be_used_is_refused_with_what_to_do() {
    let open_to = |mode| {
        move |path: &Path| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
        }
    };
    check_refused(open_to(0o755), &["open to others (mode 755)", "chmod 700"]);
    check_refused(|path| open_to(0o640)(&path.join(FILE)), &["open to others", "chmod 600"]);
    let write =
        |bytes: Vec<u8>| move |path: &Path| fs::write(path.join(FILE), bytes).expect("it is ours");
    check_refused(write(b"not a database".repeat(1_000)), &["is damaged", "move that file away"]);
    let newer = |path: &Path| {
        let database = Database::create(path.join(FILE)).expect("it is ours");
        let transaction = database.begin_write().expect("a transaction");
        transaction.open_table(ABOUT).expect("a table").insert("format", 2).expect("it is ours");
        transaction.commit().expect("it is written");
    };
    check_refused(newer, &["has format 2", "this host reads and writes 1", "run the host that"]);
}

#[test]
fn a_directory_is_one_hosts() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = root.path().join("deep").join("state");
    let store = ArchiveStore::open(&directory).expect("a new directory can be used");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&directory), mode(&directory.join(FILE))), (0o700, 0o600));
    let error = ArchiveStore::open(&directory).err().expect("it is in use").to_string();
    assert!(error.contains("another host is using it; stop that one, or give"), "{error}");
    drop(store);
    ArchiveStore::open(&directory).expect("it is free again");
}
