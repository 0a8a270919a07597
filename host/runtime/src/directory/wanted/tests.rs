//! Scans as data: the findings of each, and the decision.

use super::super::content::{Content, ContentRoom};
use super::super::debounce::Hint;
use super::*;
use std::path::PathBuf;

/// The findings of a scan about the only plugin of these tests.
#[derive(Clone, Copy)]
enum Found {
    Nothing,
    /// In this directory, with this content, last written so long ago; `None`: in the future.
    File(usize, &'static str, Option<u64>),
    Unread(UnreadCause),
    /// The directory of that number cannot be read, and the scan finds this elsewhere.
    Hidden(usize, Option<(usize, &'static str)>),
    /// An event reported the file, with this content, as finished.
    Finished(&'static str),
}

fn unread(cause: UnreadCause) -> Unread {
    Unread { directory: 0, path: PathBuf::from("/0/a"), cause }
}

fn plugin() -> FileId {
    FileId::plugin(&"a".parse().expect("a name"))
}

use Found::{File, Finished as Done, Hidden, Nothing, Unread as There};

fn file(directory: usize, content: &str, age_ms: Option<u64>, known: &KnownFiles) -> PluginFile {
    let bytes = content.as_bytes().to_vec();
    let room = ContentRoom::new(1 << 20).take(1).expect("room");
    let is_known = known.values().any(|known| known.sha256 == content);
    PluginFile {
        directory,
        path: PathBuf::from(format!("/{directory}/a.wasm")),
        sha256: content.to_owned(),
        fingerprint: None,
        age: age_ms.map(Duration::from_millis),
        content: (!is_known).then(|| Content::new(bytes, room)),
    }
}

/// Scans at these times in ms; each with its decision, and the time of the next scan.
#[track_caller]
fn check(looks: &[(u64, Found, &str)]) {
    let start = Instant::now();
    let mut wanted = Wanted::default();
    for (number, (ms, found, expect)) in looks.iter().enumerate() {
        let name = plugin();
        let (mut scan, known) = (Scan::default(), wanted.known());
        let mut debounce = super::super::debounce::Debounce::default();
        match *found {
            Nothing => {}
            File(at, text, age) => _ = scan.files.insert(name, file(at, text, age, &known)),
            There(cause) => _ = scan.unread.insert(name, unread(cause)),
            Hidden(directory, other) => {
                scan.unreadable.insert(directory);
                let other = other.map(|(at, text)| (name, file(at, text, Some(9_000), &known)));
                scan.files.extend(other);
            }
            Done(text) => {
                debounce.hint(Hint::Finished("/0/a.wasm".into()), start);
                scan.files.insert(name, file(0, text, Some(0), &known));
            }
        }
        let now = start + Duration::from_millis(*ms);
        let decision = wanted.decide(scan, &debounce.take(), now);
        let mut shown: Vec<String> = decision.changes.iter().map(show).collect();
        shown.extend(decision.look_again.map(|wait| format!("again {}", wait.as_millis())));
        assert_eq!(shown.join(", "), *expect, "look {number}, at {ms} ms");
    }
}

fn show(change: &PluginChange) -> String {
    match change {
        PluginChange::Load(_, file) => format!("load {}", file.sha256),
        PluginChange::Remove(name) => format!("remove {name}"),
        PluginChange::Refuse(name, why) => format!("refuse {name}: {why}"),
        PluginChange::Configure(_, ConfigurationFile::Read(file)) => {
            format!("configure {}", file.sha256)
        }
        PluginChange::Configure(_, ConfigurationFile::Gone) => "configure Gone".to_owned(),
        PluginChange::Configure(_, ConfigurationFile::Unreadable(_)) => {
            "configure Unreadable".to_owned()
        }
    }
}

#[test]
fn the_smallest_of_several_files_is_loaded_first() {
    let (mut wanted, mut scan) = (Wanted::default(), Scan::default());
    for (name, content) in [("a", "large-file"), ("b", "small"), ("c", "medium"), ("d", "tiny")] {
        let id = FileId::plugin(&name.parse().expect("a name"));
        scan.files.insert(id, file(0, content, None, &wanted.known()));
    }
    let decision = wanted.decide(scan, &Finished::default(), Instant::now());
    let shown: Vec<String> = decision.changes.iter().map(show).collect();
    assert_eq!(shown, ["load tiny", "load small", "load medium", "load large-file"]);
}

#[test]
fn the_first_look_takes_what_is_there() {
    check(&[(0, File(0, "one", None), "load one"), (50, File(0, "one", None), "")]);
}

#[test]
fn new_content_has_to_rest() {
    check(&[
        (0, Nothing, ""),
        (100, File(0, "half", Some(20)), "again 300"),
        (400, File(0, "more", Some(10)), "again 300"),
        (700, File(0, "more", Some(310)), "again 300"),
        (1_399, File(0, "more", None), "again 300"),
        (1_400, File(0, "more", None), "load more"),
        (1_700, File(0, "more", None), ""),
    ]);
}

#[test]
fn content_that_has_rested_or_was_finished_counts_at_once() {
    check(&[(0, Nothing, ""), (100, File(0, "one", Some(1_000)), "load one")]);
    check(&[(0, Nothing, ""), (100, Done("one"), "load one"), (200, Done("two"), "load two")]);
}

#[test]
fn content_that_comes_back_is_not_loaded_again() {
    check(&[
        (0, Done("one"), "load one"),
        (100, File(0, "two", Some(0)), "again 300"),
        (400, File(0, "one", Some(0)), ""),
        (500, File(0, "two", Some(0)), "again 300"),
        (1_499, File(0, "two", None), "again 300"),
        (1_500, File(0, "two", None), "load two"),
    ]);
}

#[test]
fn what_is_missing_for_a_moment_was_only_replaced() {
    check(&[
        (0, Done("one"), "load one"),
        (100, Nothing, "again 1000"),
        (1_000, Nothing, "again 100"),
        (1_050, Done("one"), ""),
        (1_100, Nothing, "again 1000"),
        (2_100, Nothing, "remove a"),
        (2_200, Nothing, ""),
        (2_300, Done("one"), "load one"),
    ]);
}

#[test]
fn what_cannot_be_seen_stays() {
    check(&[
        (0, Done("one"), "load one"),
        (100, Nothing, "again 1000"),
        (5_000, Hidden(0, None), ""),
        (99_000, There(UnreadCause::Refused), ""),
        (100_000, Nothing, "again 1000"),
        (101_000, Nothing, "remove a"),
    ]);
}

#[test]
fn a_file_that_changes_for_ever_is_read_less_and_less_often() {
    check(&[
        (0, Done("one"), "load one"),
        (1, There(UnreadCause::Writing), "again 300"),
        (2, There(UnreadCause::Writing), "again 600"),
        (3, There(UnreadCause::Writing), "again 1200"),
        (4, There(UnreadCause::Writing), "again 2400"),
        (5, Done("one"), ""),
        (6, There(UnreadCause::Writing), "again 300"),
        (7, There(UnreadCause::NoRoom), "again 300"),
    ]);
    let mut many = [(0, There(UnreadCause::Writing), "again 30000"); 40];
    let first =
        ["300", "600", "1200", "2400", "4800", "9600", "19200"].map(|ms| format!("again {ms}"));
    for (look, wait) in many.iter_mut().zip(&first) {
        look.2 = wait;
    }
    check(&many);
}

#[test]
fn a_file_in_a_later_directory_does_not_step_in_for_one_that_cannot_be_seen() {
    check(&[
        (0, Done("one"), "load one"),
        (100, Hidden(0, Some((1, "other"))), ""),
        (200, File(1, "other", Some(9_000)), "load other"),
        (300, Hidden(1, Some((0, "one"))), "load one"),
    ]);
}

#[test]
fn a_file_that_never_counted_goes_without_a_word() {
    check(&[
        (0, Nothing, ""),
        (100, File(0, "half", Some(0)), "again 300"),
        (400, Nothing, ""),
        (500, There(UnreadCause::Refused), ""),
        (600, Nothing, ""),
    ]);
}

#[test]
fn content_that_is_asked_for_again_is_loaded_though_it_is_the_same() {
    let name: PluginName = "a".parse().expect("a name");
    let mut wanted = Wanted::default();
    let look = |wanted: &mut Wanted, known: &KnownFiles| {
        let mut scan = Scan::default();
        scan.files.insert(plugin(), file(0, "x", Some(9_000), known));
        let decision = wanted.decide(scan, &Finished::default(), Instant::now());
        (decision.changes.len(), decision.look_again.is_some())
    };
    assert_eq!(look(&mut wanted, &KnownFiles::default()), (1, false));
    let under_way = wanted.known();
    wanted.load_again(&name);
    assert_eq!(look(&mut wanted, &under_way), (0, true), "a look that had begun cannot bring it");
    let next = wanted.known();
    assert!(wanted.is_to_load_again(&name));
    assert_eq!(look(&mut wanted, &next), (1, false));
    assert!(!wanted.is_to_load_again(&name));
    wanted.load_again(&name);
    let had_begun = look(&mut wanted, &KnownFiles::default());
    assert_eq!(had_begun, (1, true), "nor does newer content that it brings do");
    assert!(wanted.is_to_load_again(&name));
}

/// Scans every 400 ms of the plugin's file and its configuration: contents, or `!` for an unreadable file, `~` for a
/// changing one. `1:` marks the second directory, and `?` a file that was just written.
#[track_caller]
fn check_both(looks: &[(Option<&str>, Option<&str>, &str)]) {
    let start = Instant::now();
    let mut wanted = Wanted::default();
    for (number, (plugin_found, configuration_found, expect)) in looks.iter().enumerate() {
        let (mut scan, known) = (Scan::default(), wanted.known());
        let mut put = |id: FileId, found: &Option<&str>| {
            let of_kind: KnownFiles = known
                .iter()
                .filter(|(known, _)| **known == id)
                .map(|(id, it)| (id.clone(), it.clone()))
                .collect();
            match found {
                None => {}
                Some("!") => _ = scan.unread.insert(id, unread(UnreadCause::Refused)),
                Some("~") => _ = scan.unread.insert(id, unread(UnreadCause::Writing)),
                Some(text) => {
                    let (directory, text) = match text.strip_prefix("1:") {
                        Some(text) => (1, text),
                        None => (0, *text),
                    };
                    let age = if text.ends_with('?') { 0 } else { 9_000 };
                    let text = text.trim_end_matches('?');
                    scan.files.insert(id, file(directory, text, Some(age), &of_kind));
                }
            }
        };
        put(plugin(), plugin_found);
        put(FileId::configuration(&plugin().name), configuration_found);
        let now = start + Duration::from_millis(400 * number as u64);
        let decision = wanted.decide(scan, &Finished::default(), now);
        let shown: Vec<String> = decision.changes.iter().map(show).collect();
        assert_eq!(shown.join(", "), *expect, "look {number}");
    }
}

#[test]
fn a_configuration_comes_with_the_load_or_brings_one() {
    check_both(&[
        (Some("one"), Some("x"), "configure x, load one"),
        (Some("one"), Some("x"), ""),
        (Some("one"), Some("y"), "configure y"),
        (Some("one"), Some("y"), "load one"),
        (Some("two"), Some("z"), "configure z, load two"),
        (Some("two"), Some("z"), ""),
    ]);
}

#[test]
fn a_configuration_that_goes_leaves_the_defaults() {
    check_both(&[
        (Some("one"), Some("x"), "configure x, load one"),
        (Some("one"), None, ""),
        (Some("one"), Some("x"), ""),
        (Some("one"), None, ""),
        (Some("one"), None, ""),
        (Some("one"), None, ""),
        (Some("one"), None, "configure Gone"),
        (Some("one"), None, "load one"),
        (Some("one"), None, ""),
    ]);
}

#[test]
fn nothing_is_loaded_before_its_configuration_is_read() {
    check_both(&[
        (Some("one"), Some("~"), ""),
        (Some("one"), Some("~"), ""),
        (Some("one"), Some("x"), "configure x, load one"),
        (Some("one"), Some("~"), ""),
    ]);
    check_both(&[
        (Some("one"), Some("!"), "configure Unreadable, load one"),
        (Some("one"), Some("!"), ""),
        (Some("one"), Some("x"), "configure x"),
        (Some("one"), Some("!"), "load one"),
        (Some("one"), Some("!"), ""),
    ]);
    check_both(&[
        (Some("one"), Some("!"), "configure Unreadable, load one"),
        (Some("one"), None, ""),
        (Some("one"), None, ""),
        (Some("one"), None, ""),
        (Some("one"), None, "configure Gone"),
        (Some("one"), None, "load one"),
    ]);
}

#[test]
fn a_configuration_is_not_forgotten_while_its_plugins_file_cannot_be_read() {
    check_both(&[
        (Some("one"), Some("x"), "configure x, load one"),
        (Some("!"), Some("y"), "configure y"),
        (Some("!"), Some("y"), ""),
        (Some("one"), Some("y"), "load one"),
        (Some("one"), Some("y"), ""),
    ]);
}

#[test]
fn a_plugin_waits_for_a_configuration_that_is_being_written() {
    check_both(&[
        (Some("one"), Some("x"), "configure x, load one"),
        (Some("two"), Some("z?"), ""),
        (Some("two"), Some("z?"), ""),
        (Some("two"), Some("z?"), ""),
        (Some("two"), Some("z?"), "configure z, load two"),
        (Some("two"), Some("z"), ""),
    ]);
}

#[test]
fn a_plugin_in_another_directory_leaves_its_configuration_behind() {
    let before = (Some("1:one"), Some("1:x"), "configure x, load one");
    check_both(&[before, (Some("two"), None, "configure Gone, load two"), (Some("two"), None, "")]);
    check_both(&[before, (Some("two"), Some("y"), "configure y, load two")]);
    check_both(&[
        before,
        (Some("two"), Some("~"), ""),
        (Some("two"), Some("y"), "configure y, load two"),
    ]);
    check_both(&[before, (Some("two"), Some("!"), "configure Unreadable, load two")]);
    check_both(&[
        before,
        (Some("two"), Some("y?"), ""),
        (Some("two"), Some("y?"), ""),
        (Some("two"), Some("y?"), ""),
        (Some("two"), Some("y?"), "configure y, load two"),
    ]);
}

#[test]
fn a_configuration_goes_with_its_plugin() {
    check_both(&[
        (Some("one"), Some("x"), "configure x, load one"),
        (None, Some("x"), ""),
        (None, Some("x"), ""),
        (None, Some("x"), ""),
        (None, Some("x"), "remove a, configure Gone"),
        (None, Some("x"), ""),
        (Some("one"), Some("x"), "configure x, load one"),
    ]);
    check_both(&[(None, Some("x"), ""), (None, Some("y"), "")]);
}

/// Scans of a plugin's file and its configuration, with their times in ms. Checks the problem of a changing file, and
/// the decision.
#[track_caller]
fn check_changing(looks: &[(u64, &str, &str, &str)]) {
    let start = Instant::now();
    let mut wanted = Wanted::default();
    for (ms, plugin_found, configuration_found, expect) in looks {
        let (mut scan, known) = (Scan::default(), wanted.known());
        for (id, found) in
            [(plugin(), plugin_found), (FileId::configuration(&plugin().name), configuration_found)]
        {
            let of_kind: KnownFiles =
                known.get(&id).map(|it| (id.clone(), it.clone())).into_iter().collect();
            match *found {
                "" => {}
                "~" => _ = scan.unread.insert(id, unread(UnreadCause::Writing)),
                text => {
                    let age = if text.ends_with('?') { 0 } else { 9_000 };
                    scan.files.insert(id, file(0, text, Some(age), &of_kind));
                }
            }
        }
        let now = start + Duration::from_millis(*ms);
        let decision = wanted.decide(scan, &Finished::default(), now);
        let mut shown: Vec<String> = decision.changes.iter().map(show).collect();
        let said = decision.problems.iter().map(|problem| {
            let of = problem.of.as_ref().map(PluginName::as_str);
            format!("{of:?}: {}", problem.text)
        });
        shown.extend(said);
        assert_eq!(shown.join(", "), *expect, "at {ms} ms");
    }
}

const CHANGES: &str =
    "Some(\"a\"): changes at every look; write it under another name and rename it";

#[test]
fn a_configuration_that_changes_at_every_look_refuses_its_plugin_with_the_reason() {
    let refused = format!("configure Unreadable, load one, {CHANGES}");
    check_changing(&[
        (0, "one", "~", ""),
        (4_999, "one", "~", ""),
        (5_000, "one", "~", &refused),
        (9_000, "one", "~", CHANGES),
        (9_500, "one", "x", "configure x"),
        (9_900, "one", "x", "load one"),
        (10_000, "one", "~", ""),
        // The configuration that was read stays.
        (15_000, "one", "~", CHANGES),
        (15_100, "one", "x", ""),
    ]);
}

#[test]
fn content_that_is_another_at_every_look_changes_as_well() {
    let (one, other) = ("x1?", "x2?");
    let refused = format!("configure Unreadable, load one, {CHANGES}");
    check_changing(&[
        (0, "", "", ""),
        (100, "one", one, ""),
        (900, "one", other, ""),
        (1_800, "one", one, ""),
        (2_700, "one", other, ""),
        (3_600, "one", one, ""),
        (4_500, "one", other, ""),
        (5_100, "one", one, &refused),
        (5_500, "one", "", ""),
    ]);
}

#[test]
fn a_plugin_file_that_changes_at_every_look_is_refused_with_the_reason_until_it_is_gone() {
    let refused = format!(
        "refuse a: it changes at every look; write it under another name and rename it, {CHANGES}"
    );
    check_changing(&[
        (0, "~", "", ""),
        (5_000, "~", "", &refused),
        (6_000, "~", "", CHANGES),
        (7_000, "", "", ""),
        (8_000, "", "", "remove a"),
    ]);
    check_changing(&[
        (0, "~", "", ""),
        (5_000, "~", "", &refused),
        (6_000, "one", "", "load one"),
        (7_000, "~", "", ""),
        (12_000, "~", "", CHANGES),
        (12_100, "one", "", ""),
    ]);
}
