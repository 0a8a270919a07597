//! Scans of directories in many states.

use super::*;
use crate::directory::content::CONTENT_BYTES_MAX;
use crate::directory::problem::PROBLEMS_MAX;
use expect_test::{Expect, expect};
use std::fs::File;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

fn look(directories: &[PathBuf], known: &KnownFiles) -> Scan {
    let room = ContentRoom::new(CONTENT_BYTES_MAX);
    let now = SystemTime::now() + Duration::from_secs(60);
    scan(&Look { directories, known, room: &room, now })
}

fn made(make: impl FnOnce(&Path)) -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    make(directory.path());
    directory
}

fn write(directory: &Path, name: &str, content: &str) {
    fs::write(directory.join(name), content).expect("a file");
}

/// The result of a scan as text: names, the beginnings of hashes, unread files, problems.
fn shown(scan: &Scan, root: &Path) -> String {
    let mut lines = Vec::new();
    for (name, file) in &scan.files {
        let kept = if file.content.is_some() { "" } else { " known" };
        lines.push(format!("{name} {}{kept}\n", &file.sha256[..8]));
    }
    for (name, unread) in &scan.unread {
        lines.push(format!("{name} {:?}\n", unread.cause));
    }
    for problem in &scan.problems {
        let path = problem.path.strip_prefix(root).unwrap_or(&problem.path);
        let text = problem.text.replace(&root.display().to_string(), "ROOT");
        lines.push(format!("{}: {text}\n", path.display()));
    }
    lines.concat()
}

/// Prepares one directory and scans it once.
#[track_caller]
fn check(make: impl FnOnce(&Path), expect: Expect) {
    let directory = made(make);
    let scan = look(&[directory.path().to_owned()], &KnownFiles::new());
    expect.assert_eq(&shown(&scan, directory.path()));
}

#[test]
fn plugin_files_are_found_by_their_ending() {
    check(
        |at| {
            write(at, "a.wasm", "x");
            write(at, "b.wasm", "y");
            write(at, "README.md", "z");
        },
        expect![[r#"
            a 2d711642
            b a1fce436
        "#]],
    );
}

#[test]
fn hidden_and_unfinished_files_are_passed_over() {
    let names = [".a.wasm", "..data", "a.wasm~", "a.wasm.swp", "a.wasm.tmp", "a.wasm.part", "4913"];
    check(|at| names.iter().for_each(|name| write(at, name, "x")), expect![""]);
}

#[test]
fn what_cannot_be_a_plugin_is_said() {
    use std::os::unix::ffi::OsStrExt;
    check(
        |at| {
            write(at, "a b.wasm", "x");
            write(at, "c.cwasm", "x");
            write(at, "D.WASM", "x");
            write(at, &format!("{}.wasm", "e".repeat(64)), "x");
            fs::write(at.join(std::ffi::OsStr::from_bytes(b"\xff.wasm")), "x").expect("a file");
        },
        expect![[r#"
            D.WASM: is not loaded: plugin files end in .wasm, in small letters
            a b.wasm: is not loaded: "a b" cannot be a plugin's name: use 1 to 63 letters, digits, '.', '_' or '-'
            c.cwasm: compiled code (.cwasm) is not accepted, because loading it would run it unchecked; drop in the .wasm it was made from
            eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee.wasm: is not loaded: "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee" cannot be a plugin's name: use 1 to 63 letters, digits, '.', '_' or '-'
            �.wasm: is not loaded: "�" cannot be a plugin's name: use 1 to 63 letters, digits, '.', '_' or '-'
        "#]],
    );
}

/// Otherwise a plugin might get more permissions than it should have.
#[test]
fn a_configuration_that_is_there_and_cannot_be_read_is_not_as_good_as_none() {
    check(
        |at| {
            ["a", "b"].into_iter().for_each(|name| write(at, &format!("{name}.wasm"), "x"));
            symlink("nothing", at.join("a.yaml")).expect("a link");
            fs::create_dir(at.join("b.yaml")).expect("a directory");
        },
        expect![[r#"
            a 2d711642
            b 2d711642
            a.yaml Refused
            b.yaml Refused
            a.yaml: is a link to nothing, which is not there
            b.yaml: is a directory and no file; put the file here, or a link to it
        "#]],
    );
}

/// Opening a fifo without a writer waits for ever; a device may do anything.
#[test]
fn what_is_no_file_is_said_and_never_opened() {
    check(
        |at| {
            fs::create_dir(at.join("directory.wasm")).expect("a directory");
            symlink("/", at.join("to-directory.wasm")).expect("a link");
            fifo(&at.join("fifo.wasm"));
            symlink("fifo.wasm", at.join("to-fifo.wasm")).expect("a link");
            symlink("/dev/zero", at.join("device.wasm")).expect("a link");
            symlink("nothing", at.join("dangling.wasm")).expect("a link");
        },
        expect![[r#"
            dangling.wasm: is a link to nothing, which is not there
            device.wasm: is a device and no file; put the file here, or a link to it
            directory.wasm: is a directory and no file; put the file here, or a link to it
            fifo.wasm: is a pipe and no file; put the file here, or a link to it
            to-directory.wasm: is a directory and no file; put the file here, or a link to it
            to-fifo.wasm: is a pipe and no file; put the file here, or a link to it
        "#]],
    );
}

fn fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).expect("a fifo");
}

#[test]
fn links_are_followed_and_loops_are_not() {
    check(
        |at| {
            write(at, ".kept", "x");
            symlink(".kept", at.join("link.wasm")).expect("a link");
            symlink("link.wasm", at.join("link-to-link.wasm")).expect("a link");
            fs::hard_link(at.join(".kept"), at.join("hard.wasm")).expect("a link");
            symlink("loop.wasm", at.join("loop.wasm")).expect("a link");
        },
        expect![[r#"
            hard 2d711642
            link 2d711642
            link-to-link 2d711642
            loop Refused
            loop.wasm: cannot be read: Too many levels of symbolic links (os error 40)
        "#]],
    );
}

/// The file has no blocks on the disk, and would take long to read. Invariant 32.
#[test]
fn a_file_that_is_too_large_is_not_read() {
    check(
        |at| {
            let file = File::create(at.join("large.wasm")).expect("a file");
            file.set_len(1 << 40).expect("a file of one TiB");
        },
        expect![[r#"
            large Refused
            large.wasm: cannot be read: it has 1099511627776 bytes, and a plugin has at most 67108864; build it for size, without debug information
        "#]],
    );
}

/// A few bytes on the disk, and 64 MiB to read.
#[test]
fn a_file_of_holes_is_not_read() {
    check(
        |at| {
            fs::write(at.join("hollow.wasm"), b"\0asm\x01\0\0\0").expect("a file");
            let file = File::options().write(true).open(at.join("hollow.wasm")).expect("a file");
            file.set_len(64 << 20).expect("a file of 64 MiB");
            fs::write(at.join("small.wasm"), "x").expect("a file");
            let file = File::options().write(true).open(at.join("small.wasm")).expect("a file");
            file.set_len(64 << 10).expect("a file of 64 KiB");
        },
        expect![[r#"
            small 60b72758
            hollow Refused
            hollow.wasm: cannot be read: more than half of its 67108864 bytes are holes; copy the plugin's file anew, without --sparse
        "#]],
    );
}

#[test]
fn a_file_that_is_no_wasm_is_read_up_to_64_kib() {
    check(
        |at| {
            write(at, "large.wasm", &"x".repeat((64 << 10) + 1));
            write(at, "small.wasm", &"x".repeat(64 << 10));
            write(at, "wasm.wasm", &format!("\0asm{}", "x".repeat(64 << 10)));
        },
        expect![[r#"
            small 1f8745f0
            wasm aab59c84
            large Refused
            large.wasm: cannot be read: it has 65537 bytes and is no WebAssembly file; drop in the .wasm that your compiler wrote
        "#]],
    );
}

#[test]
fn the_file_in_the_first_directory_counts() {
    let root = made(|at| {
        for name in ["one", "two"] {
            fs::create_dir(at.join(name)).expect("a directory");
            write(&at.join(name), "a.wasm", name);
        }
        symlink("b.wasm", at.join("one/b.wasm")).expect("a loop");
        write(&at.join("two"), "b.wasm", "not even if the first cannot be read");
    });
    let scan = look(&["one", "two"].map(|name| root.path().join(name)), &KnownFiles::new());
    expect![[r#"
        a 7692c3ad
        b Refused
        one/b.wasm: cannot be read: Too many levels of symbolic links (os error 40)
        two/a.wasm: is not loaded: a.wasm in ROOT/one has the same name and counts
        two/b.wasm: is not loaded: b.wasm in ROOT/one has the same name and counts
    "#]]
    .assert_eq(&shown(&scan, root.path()));
}

#[test]
fn a_missing_directory_is_unreadable_not_empty() {
    let scan = look(&["/no/such/directory".into()], &KnownFiles::new());
    assert_eq!(scan.unreadable, [0].into());
    assert!(scan.files.is_empty());
}

#[test]
fn more_plugins_than_fit_are_left_alone() {
    let root = made(|at| {
        (0..PLUGINS_MAX + 3).for_each(|number| write(at, &format!("{number:04}.wasm"), "x"));
    });
    let scan = look(&[root.path().to_owned()], &KnownFiles::new());
    assert_eq!((scan.files.len(), scan.crowded), (PLUGINS_MAX, 3));
    expect!["has more plugin files than are loaded, by 3: one host runs at most 2048 plugins; remove some, or run another host for them"]
        .assert_eq(&scan.problems[0].text);
}

#[test]
fn as_many_problems_as_people_read_are_told_of() {
    let root = made(|at| {
        (0..PROBLEMS_MAX + 5).for_each(|number| write(at, &format!("{number}.cwasm"), "x"));
    });
    let scan = look(&[root.path().to_owned()], &KnownFiles::new());
    assert_eq!(scan.problems.len(), PROBLEMS_MAX + 1);
    let last = &scan.problems[PROBLEMS_MAX];
    assert_eq!(last.text, "and others have 5 problems more like these");
}

/// A target has up to 4,095 bytes, and 65,536 links fit into a directory.
#[test]
fn a_links_target_is_cut_and_said_on_one_line() {
    check(
        |at| {
            let target = vec!["y".repeat(200); 20].join("/");
            symlink(target, at.join("a.wasm")).expect("a link");
            symlink("\n", at.join("b.wasm")).expect("a link");
        },
        expect![[r#"
            a.wasm: is a link to yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy/yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy … (3764 bytes more), which is not there
            b.wasm: is a link to \n, which is not there
        "#]],
    );
}

/// The problem of the directory is not behind those of its files.
#[test]
fn links_without_targets_are_counted_beyond_those_that_are_told_of() {
    let root = made(|at| {
        let link = |number| symlink("nothing", at.join(format!("{number:04}.wasm")));
        (0..5 * PROBLEMS_MAX).for_each(|number| link(number).expect("a link"));
    });
    let missing = root.path().join("missing");
    let scan = look(&[root.path().to_owned(), missing.clone()], &KnownFiles::new());
    let files = scan.problems.iter().map(|problem| problem.files).sum::<usize>();
    assert_eq!((scan.problems.len(), files), (PROBLEMS_MAX + 2, 5 * PROBLEMS_MAX + 1));
    assert!(scan.problems.iter().any(|problem| problem.path == missing));
}

#[test]
fn a_directory_with_too_many_entries_is_unreadable() {
    let root = made(|at| {
        let file = at.join("0");
        fs::write(&file, "").expect("a file");
        (1..=ENTRIES_MAX).for_each(|number| {
            // A link is made faster than a file; a file has a maximum of links.
            let from = at.join((number / 30_000 * 30_000).to_string());
            let to = at.join(number.to_string());
            match number % 30_000 {
                0 => fs::write(to, "").expect("a file"),
                _ => fs::hard_link(from, to).expect("a link"),
            }
        });
    });
    let scan = look(&[root.path().to_owned()], &KnownFiles::new());
    assert_eq!(scan.unreadable, [0].into());
    assert!(scan.problems[0].text.contains("more than 65536 entries"), "{:?}", scan.problems);
}

#[test]
fn what_finds_no_room_is_left_for_the_next_look() {
    let root = made(|at| {
        write(at, "a.wasm", "x");
        write(at, "b.wasm", "y");
    });
    let (directories, known) = ([root.path().to_owned()], KnownFiles::new());
    let room = ContentRoom::new(4 << 10);
    let now = SystemTime::now();
    let look = Look { directories: &directories, known: &known, room: &room, now };
    let first = scan(&look);
    expect![[r#"
        a 2d711642
        b NoRoom
    "#]]
    .assert_eq(&shown(&first, root.path()));
    drop(first);
    assert_eq!(scan(&look).files.len(), 1, "the room came back");
}

/// The file is written over, then replaced. Invariant 30.
#[test]
fn the_hashed_bytes_are_kept_whatever_becomes_of_the_file() {
    let root = made(|at| write(at, "a.wasm", "hashed"));
    let scan = look(&[root.path().to_owned()], &KnownFiles::new());
    let file = scan.files.values().next().expect("it is there");
    let content = file.content.as_ref().expect("it is new");
    let check = || {
        assert_eq!(&**content, b"hashed");
        assert_eq!(content.sha256(), file.sha256);
    };
    write(root.path(), "a.wasm", "over it");
    check();
    write(root.path(), "b", "another");
    fs::rename(root.path().join("b"), root.path().join("a.wasm")).expect("it is replaced");
    check();
}

/// The known files after a scan.
fn known(scan: &Scan) -> KnownFiles {
    let known = scan.files.iter().map(|(name, file)| {
        let (path, sha256) = (file.path.clone(), file.sha256.clone());
        (name.clone(), KnownFile { path, sha256, fingerprint: file.fingerprint })
    });
    known.collect()
}

#[test]
fn known_content_is_not_kept_again() {
    let root = made(|at| write(at, "a.wasm", "x"));
    let directories = [root.path().to_owned()];
    let first = look(&directories, &KnownFiles::new());
    assert_eq!(shown(&first, root.path()), "a 2d711642\n");
    let again = look(&directories, &known(&first));
    assert_eq!(shown(&again, root.path()), "a 2d711642 known\n");
}

/// A scan skips a file whose fingerprint is unchanged. A false fingerprint in the known files shows that.
#[test]
fn a_file_is_read_when_its_times_or_its_size_have_changed() {
    let root = made(|at| write(at, "a.wasm", "x"));
    let directories = [root.path().to_owned()];
    let mut known = known(&look(&directories, &KnownFiles::new()));
    let lie = "0".repeat(64);
    known.values_mut().for_each(|file| file.sha256.clone_from(&lie));
    assert_eq!(shown(&look(&directories, &known), root.path()), "a 00000000 known\n");
    write(root.path(), "a.wasm", "z");
    assert_eq!(shown(&look(&directories, &known), root.path()), "a 594e519a\n");
}

#[test]
fn a_file_that_changed_just_now_is_read_again() {
    let root = made(|at| write(at, "a.wasm", "x"));
    let (directories, known) = ([root.path().to_owned()], KnownFiles::new());
    let room = ContentRoom::new(CONTENT_BYTES_MAX);
    let now = SystemTime::now();
    let scan = scan(&Look { directories: &directories, known: &known, room: &room, now });
    assert!(scan.files.values().all(|file| file.fingerprint.is_none()));
}
