//! The source answers for a part as an API server does.

use super::*;
use crate::list_watch::{ListerWatcher, ListerWatcherSource};
use futures::FutureExt;

fn pod(name: &str, namespace: &str, app: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","labels":{{"app":"{app}"}}}}}}"#
    )
}

fn pods(source: &FakeControllerSource, part: &Part) -> Arc<dyn ListerWatcher> {
    source.lister_watcher(&"v1/pods".parse().expect("a resource"), part)
}

fn shown(change: Change, object: &Object) -> String {
    let app = object.label("app").unwrap_or_default();
    format!("{change:?} {}@{} {app}", object.key(), object.resource_version())
}

/// The events of a watch of `part` from the beginning for some changes, and the objects of a list after them.
#[track_caller]
fn check(part: &Part, heard: &[&str], listed: &[&str]) {
    let source = FakeControllerSource::default();
    source.add(&pod("a", "n", "web"));
    source.modify(&pod("a", "n", "db"));
    source.modify(&pod("a", "n", "web"));
    source.add(&pod("b", "other", "web"));
    source.delete(&pod("b", "other", "web"));
    source.add(&pod("c", "n", "web"));
    let pods = pods(&source, part);
    let options = WatchOptions { resource_version: "0".into(), ..Default::default() };
    let mut watch = pods.watch(options).now_or_never().expect("at once").expect("a watch");
    let mut found = Vec::new();
    while let Some(event) = watch.next().now_or_never() {
        match event.expect("it goes on").expect("no error") {
            WatchEvent::Changed(change, object, _) => found.push(shown(change, &object)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(found, heard);
    let list = pods.list(ListOptions::default()).now_or_never().expect("at once").expect("a list");
    let list = list.collect::<Vec<_>>().now_or_never().expect("at once");
    let names = list.into_iter().filter_map(|event| match event.expect("no error") {
        ListEvent::Object(object, _) => Some(object.key().to_string()),
        ListEvent::Malformed(_) | ListEvent::End { .. } => None,
    });
    assert_eq!(names.collect::<Vec<_>>(), listed);
}

#[test]
fn everything_is_heard_of_as_it_happened() {
    let heard = [
        "Added n/a@1 web",
        "Modified n/a@2 db",
        "Modified n/a@3 web",
        "Added other/b@4 web",
        "Deleted other/b@5 web",
        "Added n/c@6 web",
    ];
    check(&Part::all(), &heard, &["n/a", "n/c"]);
}

#[test]
fn what_an_update_moves_out_is_deleted_with_its_state_before() {
    let heard = [
        "Added n/a@1 web",
        "Deleted n/a@2 web",
        "Added n/a@3 web",
        "Added other/b@4 web",
        "Deleted other/b@5 web",
        "Added n/c@6 web",
    ];
    check(&Part { label_selector: "app=web".to_owned(), ..Part::all() }, &heard, &["n/a", "n/c"]);
}

#[test]
fn a_namespace_and_a_name_select() {
    check(&Part::namespace("other"), &["Added other/b@4 web", "Deleted other/b@5 web"], &[]);
    let part = Part { field_selector: "metadata.name=c".to_owned(), ..Part::namespace("n") };
    check(&part, &["Added n/c@6 web"], &["n/c"]);
}

#[test]
fn a_selector_that_is_not_understood_is_a_bad_request() {
    let source = FakeControllerSource::default();
    for (label_selector, field_selector) in [("a in", ""), ("", "spec.nodeName=x"), ("", "x")] {
        let (label_selector, field_selector) = (label_selector.into(), field_selector.into());
        let part = Part { label_selector, field_selector, ..Part::all() };
        let list = pods(&source, &part).list(ListOptions::default()).now_or_never();
        let Some(Err(ListWatchError::BadRequest { .. })) = list else { panic!("{part} is listed") };
    }
}
