use super::*;
use crate::indexer::Indexer;
use crate::list_watch::ListWatchError;
use crate::shared_informer::RELIST_BYTES_MAX;

fn wanted(namespaces: &[&str]) -> BTreeSet<Part> {
    let part = |name: &&str| if name.is_empty() { Part::all() } else { Part::namespace(*name) };
    namespaces.iter().map(part).collect()
}

fn shown(steps: &[PartsStep]) -> Vec<String> {
    let shown = |step: &PartsStep| match step {
        PartsStep::Start(id, progress) => format!("start {id} {}", progress.part()),
        PartsStep::Stop(id, progress) => format!("stop {id} {}", progress.part()),
        PartsStep::Restart(id, new, progress) => {
            format!("restart {id} as {new} {}", progress.part())
        }
    };
    steps.iter().map(shown).collect()
}

fn parts() -> Parts {
    Parts::new(Arc::new(Progress::new(Instant::now())), RELIST_BYTES_MAX)
}

fn want(parts: &mut Parts, namespaces: &[&str]) -> Vec<String> {
    shown(&parts.want(&wanted(namespaces), Instant::now()))
}

#[test]
fn what_is_not_wanted_and_met_by_nothing_else_waits_for_nobody() {
    let mut parts = parts();
    assert_eq!(want(&mut parts, &["a", "b"]), ["start 1 namespace a", "start 2 namespace b"]);
    assert!(sync(&mut parts, 1, "5").is_empty());
    // For example, the other is refused.
    assert_eq!(want(&mut parts, &["b"]), ["stop 1 namespace a"]);
    assert_eq!(want(&mut parts, &["b", "c"]), ["start 3 namespace c"]);
    assert!(sync(&mut parts, 3, "6").is_empty());
    assert_eq!(want(&mut parts, &["", "b"]), ["start 4 all namespaces"]);
    assert!(want(&mut parts, &["", "b"]).is_empty(), "the whole may show it as well");
    // No part relies on a refused one.
    let refused = ListWatchError::Forbidden { message: "no".to_owned() };
    parts.get(4).expect("it is there").progress.failed(&refused);
    assert_eq!(want(&mut parts, &["b"]), ["stop 4 all namespaces", "stop 3 namespace c"]);
}

fn sync(parts: &mut Parts, id: PartId, resource_version: &str) -> Vec<String> {
    parts.list_is_complete(id, resource_version);
    parts.say_synced(id);
    shown(&parts.settle(Instant::now()))
}

fn object(version: u32) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"a","name":"x","resourceVersion":"{version}"}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

#[test]
fn what_is_narrower_goes_on_until_the_wider_has_synced() {
    let mut parts = parts();
    let steps = want(&mut parts, &["a", "b"]);
    assert_eq!(steps, ["start 1 namespace a", "start 2 namespace b"]);
    assert!(sync(&mut parts, 1, "5").is_empty() && sync(&mut parts, 2, "7").is_empty());
    assert_eq!(parts.resource_version(), Some("5"), "the one that is furthest behind");
    assert_eq!(want(&mut parts, &[""]), ["start 3 all namespaces"]);
    assert!(parts.overlap && !parts.are_synced());
    assert_eq!(sync(&mut parts, 3, "9"), ["stop 1 namespace a", "stop 2 namespace b"]);
    assert!(!parts.overlap);
}

#[test]
fn a_narrower_scope_stops_what_it_does_not_want_at_once() {
    let mut parts = parts();
    want(&mut parts, &["a", "b"]);
    sync(&mut parts, 1, "5");
    sync(&mut parts, 2, "5");
    assert_eq!(want(&mut parts, &["a"]), ["stop 2 namespace b"]);
    assert_eq!(parts.have(&object(1)), PartsHave::Whole);
}

#[test]
fn a_part_that_is_wanted_again_in_time_never_stopped() {
    let mut parts = parts();
    want(&mut parts, &["a"]);
    sync(&mut parts, 1, "5");
    assert_eq!(want(&mut parts, &[""]), ["start 2 all namespaces"]);
    assert_eq!(want(&mut parts, &["a"]), ["stop 2 all namespaces"]);
}

/// All namespaces were listed, then only `a` was wanted, and the first part left an object to it.
fn parts_whose_first_gave_way() -> Parts {
    let mut parts = parts();
    want(&mut parts, &[""]);
    sync(&mut parts, 1, "5");
    want(&mut parts, &["a"]);
    parts.gave_way(1);
    parts
}

/// Invariant 11.
#[test]
fn a_part_that_left_something_to_others_is_listed_anew_when_it_is_wanted_again() {
    let store = Indexer::default();
    let mut parts = parts_whose_first_gave_way();
    assert_eq!(want(&mut parts, &[""]), ["restart 1 as 3 all namespaces"]);
    assert_eq!(sync(&mut parts, 3, "9"), ["stop 2 namespace a"]);
    want(&mut parts, &["a"]);
    parts.gave_way(3);
    parts.begin(3, store.write().begin_list());
    parts.list_is_complete(3, "10");
    assert_eq!(want(&mut parts, &[""]), ["stop 4 namespace a"], "it has looked again");
}

#[test]
fn a_part_that_is_listed_anew_still_knows_that_the_server_was_set_back() {
    let store = Indexer::default();
    let mut parts = parts_whose_first_gave_way();
    parts.get(1).expect("it is there").progress.rewound();
    want(&mut parts, &[""]);
    parts.begin(3, store.write().begin_list());
    let listing = parts.get(3).and_then(|part| part.listing.as_ref());
    assert!(parts.overlap && listing.is_some_and(|listing| listing.consistent));
}

#[test]
fn an_informer_has_synced_once_what_is_missing_is_not_wanted_any_more() {
    let mut parts = parts();
    want(&mut parts, &["a", "b"]);
    sync(&mut parts, 1, "5");
    assert!(!parts.progress.has_synced());
    assert_eq!(want(&mut parts, &["a"]), ["stop 2 namespace b"]);
    assert!(parts.progress.has_synced());
}

/// A first part is not wanted any more, and has written an object since the list of the second one. Checks the steps once the
/// second one has shown this version, soon after and some time later.
#[track_caller]
fn check_lag(mut parts: Parts, second: PartId, shows: Option<u32>, soon: &[&str], later: &[&str]) {
    let now = Instant::now();
    parts.list_is_complete(second, "8");
    parts.note_change(1, &object(9), AwaitedChange::At, "9");
    assert!(shown(&parts.settle(now)).is_empty() && parts.due() == Some(now + SHOWN_WITHIN));
    if let (Some(version), Some(part)) = (shows, parts.get_mut(second)) {
        part.shows(&object(version));
    }
    assert_eq!(shown(&parts.settle(now)), soon);
    assert_eq!(shown(&parts.settle(now + SHOWN_WITHIN)), later);
    assert!(parts.due().is_none() && parts.settle(now).is_empty() && !parts.overlap);
}

/// All namespaces replace `a`.
#[track_caller]
fn check_overtaken(shows: Option<u32>, soon: &[&str], later: &[&str]) {
    let mut parts = parts();
    want(&mut parts, &["a"]);
    sync(&mut parts, 1, "5");
    want(&mut parts, &[""]);
    check_lag(parts, 2, shows, soon, later);
}

/// Invariant 11.
#[test]
fn what_is_not_wanted_goes_once_what_it_wrote_was_shown() {
    check_overtaken(Some(9), &["stop 1 namespace a"], &[]);
    check_overtaken(Some(10), &["stop 1 namespace a"], &[]);
}

/// Metadata replace `a`, while `b` is refused for good.
#[track_caller]
fn check_replaced(shows: Option<u32>, soon: &[&str], later: &[&str]) {
    let mut parts = parts();
    want(&mut parts, &["a", "b"]);
    assert!(sync(&mut parts, 1, "5").is_empty());
    let metadata = Part { metadata_only: true, ..Part::namespace("a") };
    parts.want(&[metadata, Part::namespace("b")].into(), Instant::now());
    check_lag(parts, 3, shows, soon, later);
}

/// Invariant 11.
#[test]
fn what_is_replaced_goes_although_another_wanted_part_is_refused_for_good() {
    check_replaced(Some(9), &["stop 1 namespace a"], &[]);
    let later = ["stop 1 namespace a", "restart 3 as 4 namespace a, metadata only"];
    check_replaced(None, &[], &later);
}

/// Invariant 11.
#[test]
fn what_never_shows_what_another_part_wrote_is_listed_again() {
    let later = ["stop 1 namespace a", "restart 2 as 3 all namespaces"];
    check_overtaken(None, &[], &later);
    check_overtaken(Some(8), &[], &later);
}

#[test]
fn a_list_that_began_alone_is_not_the_last_word_once_another_part_starts() {
    let store = Indexer::default();
    let mut parts = parts();
    want(&mut parts, &["a"]);
    parts.begin(1, store.write().begin_list());
    let check = |parts: &mut Parts, consistent| {
        let listing = parts.get_mut(1).and_then(|part| part.listing.as_ref());
        assert_eq!(listing.map(|listing| listing.consistent), Some(consistent));
    };
    check(&mut parts, true);
    want(&mut parts, &["a", "b"]);
    check(&mut parts, true);
    want(&mut parts, &[""]);
    check(&mut parts, false);
}

/// Invariant 9.
#[test]
fn what_is_not_wanted_is_silent_on_what_the_wanted_shows() {
    let mut parts = parts();
    want(&mut parts, &["a"]);
    sync(&mut parts, 1, "5");
    want(&mut parts, &[""]);
    assert!(!parts.gives_way(1, &object(6)), "the wider one has not synced");
    parts.list_is_complete(2, "8");
    assert!(parts.gives_way(1, &object(9)) && !parts.gives_way(2, &object(9)));
}

#[test]
fn a_part_that_is_behind_does_not_bring_back_what_another_saw_deleted() {
    let mut parts = parts();
    want(&mut parts, &["a"]);
    sync(&mut parts, 1, "5");
    parts.note_deleted(1, object(5).key(), "5");
    assert!(parts.was_deleted(&object(4)).is_none(), "one part alone is never behind itself");
    want(&mut parts, &[""]);
    parts.note_deleted(1, object(9).key(), "9");
    parts.note_deleted(2, object(7).key(), "7");
    assert_eq!(parts.was_deleted(&object(8)).as_deref(), Some("9"), "the last end counts");
    parts.list_is_complete(2, "8");
    parts.forget_deletions();
    assert!(parts.was_deleted(&object(8)).is_some(), "the part has not passed it");
    for id in [1, 2] {
        parts.get_mut(id).expect("it is there").resource_version = Some("9".into());
    }
    parts.has_passed();
    parts.forget_deletions();
    assert!(parts.deletions.is_empty());
}

fn labelled(version: u32, app: &str) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"a","name":"x","resourceVersion":"{version}","labels":{{"app":"{app}"}}}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("it decodes")
}

/// Invariant 9.
#[test]
fn metadata_leave_a_whole_object_to_the_part_that_has_it_whole() {
    let mut parts = parts();
    let web = Part { label_selector: "app=web".to_owned(), ..Part::all() };
    let metadata = Part { metadata_only: true, ..Part::all() };
    parts.want(&[web, metadata].into(), Instant::now());
    let id = |is_metadata_only: bool| {
        let is_it = |id: &PartId| parts.parts[id].is_metadata_only() == is_metadata_only;
        parts.parts.keys().copied().find(is_it).expect("both are there")
    };
    let (whole, metadata) = (id(false), id(true));
    let (before, after) = (labelled(5, "web"), labelled(6, "db"));
    assert!(parts.leaves(metadata, &after.metadata_only(), || Some(&before)));
    assert!(!parts.leaves(whole, &after, || Some(&before)), "it tells of the end itself");
    let stored = before.metadata_only();
    assert!(!parts.leaves(metadata, &after.metadata_only(), || Some(&stored)), "not whole");
    assert!(!parts.leaves(metadata, &after.metadata_only(), || Some(&after)), "not of the part");
}

/// Invariant 9.
#[test]
fn a_part_that_is_behind_does_not_bring_an_object_back_into_selectors_that_it_left() {
    let mut parts = parts();
    want(&mut parts, &[""]);
    sync(&mut parts, 1, "5");
    let web = Part { label_selector: "app=web".to_owned(), ..Part::all() };
    parts.want(&[web].into(), Instant::now());
    parts.note_deleted(2, labelled(9, "web").key(), "9");
    assert_eq!(parts.was_deleted(&labelled(8, "web")).as_deref(), Some("9"));
    assert!(parts.was_deleted(&labelled(9, "db")).is_none(), "that is where it is now");
    assert!(parts.was_deleted(&labelled(10, "web")).is_none(), "it came back");
    // Both parts tell of one deletion. The part that selects everything knows that it is one.
    let object = labelled(12, "web");
    parts.note_deleted(1, object.key(), "12");
    parts.note_deleted(2, object.key(), "12");
    assert_eq!(parts.was_deleted(&labelled(11, "db")).as_deref(), Some("12"));
}

#[test]
fn deletions_are_forgotten_once_nothing_overlaps() {
    let mut parts = parts();
    want(&mut parts, &["a"]);
    sync(&mut parts, 1, "5");
    want(&mut parts, &[""]);
    parts.note_deleted(1, object(9).key(), "9");
    assert_eq!(sync(&mut parts, 2, "8"), ["stop 1 namespace a"]);
    assert!(parts.was_deleted(&object(8)).is_none(), "a server that was set back has it again");
}

#[test]
fn an_object_that_was_made_again_is_no_deleted_one() {
    let mut parts = parts();
    want(&mut parts, &["a", ""]);
    parts.note_deleted(1, object(9).key(), "9");
    assert!(parts.was_deleted(&object(10)).is_none());
    assert!(parts.deletions.is_empty());
}

fn metadata() -> BTreeSet<Part> {
    [Part { metadata_only: true, ..Part::all() }].into()
}

/// Invariant 9. The part of metadata writes over whole objects meanwhile.
#[test]
fn a_part_that_metadata_replace_promises_no_more_after_another_list() {
    let (store, mut parts) = (Indexer::default(), parts());
    let progress = parts.progress.clone();
    want(&mut parts, &[""]);
    sync(&mut parts, 1, "5");
    assert!(progress.covers(&Scope::all()));
    parts.want(&metadata(), Instant::now());
    assert!(!progress.covers(&Scope::all()));
    // Its watch expires while the list of metadata is refused.
    parts.begin(1, store.write().begin_list());
    assert!(sync(&mut parts, 1, "7").is_empty());
    assert!(!progress.covers(&Scope::all()) && progress.covers(&Scope::all().metadata_only()));
    assert_eq!(want(&mut parts, &[""]), ["restart 1 as 3 all namespaces"]);
}

#[test]
fn a_first_list_that_replaces_metadata_by_whole_objects_is_shown_at_its_end() {
    let (store, mut parts) = (Indexer::default(), parts());
    let is_staged = |parts: &mut Parts, id: PartId| {
        parts.begin(id, store.write().begin_list());
        parts.get(id).and_then(|part| part.listing.as_ref()).is_some_and(|it| it.staged.holds())
    };
    parts.want(&metadata(), Instant::now());
    assert!(!is_staged(&mut parts, 1), "nothing is there");
    sync(&mut parts, 1, "5");
    want(&mut parts, &[""]);
    assert!(is_staged(&mut parts, 2));
}
