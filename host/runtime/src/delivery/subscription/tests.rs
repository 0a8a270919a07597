//! The events that a subscription makes of an informer's notifications.

use super::*;
use crate::contract::descriptor::Descriptor;
use crate::counters::Counters;
use crate::delivery::mailbox::{Marks, Settled};
use informant_cache::Reason as CacheReason;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// A pod of namespace `a`: `labels` and `phase`.
pub(super) fn pod(version: u64, labels: &str, phase: &str) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web","namespace":"a","uid":"1",
        "resourceVersion":"{version}","labels":{{{labels}}}}},"status":{{"phase":"{phase}"}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("the test's pod is well formed")
}

/// A call of the handler.
#[derive(Clone)]
pub(super) enum Told {
    /// With `Initial`, the replay reaches the object, if there is a replay.
    Added(CacheReason, Object),
    /// The first list shows the object, ahead of the replay.
    Listed(Object),
    Updated(Object, Object),
    Deleted(FinalState, Object),
    Synced,
}

pub(in crate::delivery) fn spec(keys: &str) -> SubscriptionSpec {
    let descriptor =
        format!(r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods"{keys}}}]}}"#);
    let descriptor = Descriptor::parse(descriptor.as_bytes()).expect("the descriptor is valid");
    SubscriptionSpec::clone(&descriptor.subscriptions[0])
}

/// Notifies a subscription with `keys`, and shows its queued events and the number of filtered ones. The subscription
/// replaces one with the keys `before`, whose replay has ended. With `before`, notifications come ahead of the replay
/// until the replay has reached the object.
#[track_caller]
fn check(keys: &str, before: Option<&str>, told: &[Told], expect: &str) {
    check_where(keys, before, before.is_some(), told, expect);
}

/// Like `check`, for a subscription that replaces none.
#[track_caller]
fn check_ahead(keys: &str, told: &[Told], expect: &str) {
    check_where(keys, FIRST, true, told, expect);
}

#[track_caller]
fn check_where(keys: &str, before: Option<&str>, is_ahead: bool, told: &[Told], expect: &str) {
    let counters = Arc::new(Counters::default());
    let marks = Marks { events: 100, bytes: usize::MAX };
    let queue = Arc::new(PluginQueue::new(marks, counters.clone()));
    let id = SubscriptionId(1);
    // Each subscription but the first replaces the one in front of it, whose replay had not begun.
    let earlier = before.into_iter().flat_map(|before| before.split(';'));
    let specs: Vec<_> = earlier.chain([keys]).map(spec).collect();
    let mut handler = SubscriptionHandler::new(id, &specs[0], queue.clone());
    if before.is_some() {
        handler.on_synced();
    }
    for spec in &specs[1..] {
        handler = SubscriptionHandler::replacing(id, spec, queue.clone(), &handler);
    }
    tell(&handler, told, is_ahead);
    check_queued(&queue, &counters, expect, keys);
}

/// Notifies a subscription of a plugin to which an earlier host delivered the pod with the UID `1`. In the end the
/// cache has `present`.
#[track_caller]
fn check_knowing(keys: &str, present: Option<Object>, told: &[Told], expect: &str) {
    let counters = Arc::new(Counters::default());
    let marks = Marks { events: 100, bytes: usize::MAX };
    let queue = Arc::new(PluginQueue::new(marks, counters.clone()));
    // The later subscriptions replace the first one before its first notification.
    let specs: Vec<_> = keys.split(';').map(spec).collect();
    let id = SubscriptionId(1);
    let handler = SubscriptionHandler::new(id, &specs[0], queue.clone());
    let known = vec![pod(1, RED, "Pending")];
    let mut handler = handler.knowing(known, Box::new(move |_| present.clone()));
    for spec in &specs[1..] {
        handler = SubscriptionHandler::replacing(id, spec, queue.clone(), &handler);
    }
    tell(&handler, told, false);
    check_queued(&queue, &counters, expect, keys);
}

/// `is_ahead`: the replay has not reached the object yet.
pub(super) fn tell(handler: &SubscriptionHandler, told: &[Told], mut is_ahead: bool) {
    let is_replayed = handler.progress.count().is_some();
    for told in told {
        let cause = |reason| Cause { reason, received: Instant::now() };
        let coalesced = 0;
        let notification = match told.clone() {
            Told::Added(CacheReason::Initial, object) if is_replayed => {
                is_ahead = false;
                handler.on_replay(&object, cause(CacheReason::Initial));
                continue;
            }
            Told::Added(reason, object) => {
                Notification::Added { object, cause: cause(reason), coalesced }
            }
            Told::Listed(object) => {
                let cause = cause(CacheReason::Initial);
                Notification::Added { object, cause, coalesced }
            }
            Told::Updated(old, new) => {
                let cause = cause(CacheReason::Watch);
                Notification::Updated { old, new, cause, coalesced }
            }
            Told::Deleted(final_state, last) => {
                let (known_as, cause) = (None, cause(CacheReason::Watch));
                Notification::Deleted { last, known_as, final_state, cause, coalesced }
            }
            Told::Synced => {
                is_ahead = false;
                handler.on_synced();
                continue;
            }
        };
        match notification {
            ahead if is_ahead => handler.on_ahead(&ahead),
            Notification::Added { object, cause, .. } => handler.on_add(&object, cause),
            Notification::Updated { old, new, cause, .. } => handler.on_update(&old, &new, cause),
            Notification::Deleted { last, final_state, cause, .. } => {
                handler.on_delete(&last, final_state, cause);
            }
            Notification::Synced => {}
        }
    }
}

#[track_caller]
fn check_queued(queue: &PluginQueue, counters: &Counters, expect: &str, keys: &str) {
    let now = Instant::now();
    let mut shown = Vec::new();
    while let Some(queued) = queue.pop(0, now) {
        let event = &queued.event;
        let gone = event.gone.map(|gone| format!(" {gone:?}")).unwrap_or_default();
        let version = event.object.resource_version();
        shown.push(format!("{:?}{gone} {version} {:?}", event.change, event.reason));
        queue.settle_event(0, Settled::Finished, now);
    }
    let filtered = counters.filtered.load(Relaxed);
    if filtered > 0 {
        shown.push(format!("filtered {filtered}"));
    }
    assert_eq!(shown.join(", "), expect, "{keys}");
}

const FIRST: Option<&str> = None;
const RED: &str = r#""colour":"red""#;
const BLUE: &str = r#""colour":"blue""#;

#[test]
fn changes_are_told_as_they_are() {
    let told = [
        Told::Added(CacheReason::Initial, pod(1, "", "Pending")),
        Told::Updated(pod(1, "", "Pending"), pod(2, "", "Running")),
        Told::Deleted(FinalState::Known, pod(3, "", "Running")),
    ];
    check("", FIRST, &told, "Added 1 Initial, Updated 2 Watch, Deleted Deleted 3 Watch");
    let told = [Told::Deleted(FinalState::Unknown, pod(3, "", "Running"))];
    check("", FIRST, &told, "Deleted Unknown 3 Watch");
}

#[test]
fn entering_a_view_is_added_and_leaving_it_is_deleted_with_the_old_state() {
    let told = [
        Told::Added(CacheReason::Watch, pod(1, BLUE, "Running")),
        Told::Updated(pod(1, BLUE, "Running"), pod(2, RED, "Running")),
        Told::Updated(pod(2, RED, "Running"), pod(3, RED, "Failed")),
        Told::Updated(pod(3, RED, "Failed"), pod(4, BLUE, "Failed")),
        Told::Deleted(FinalState::Known, pod(5, BLUE, "Failed")),
    ];
    let expect = "Added 2 Watch, Updated 3 Watch, Deleted LeftView 3 Watch";
    check(r#","labelSelector":"colour=red""#, FIRST, &told, expect);
}

#[test]
fn namespaces_and_fields_define_a_view_too() {
    let told = [
        Told::Added(CacheReason::Watch, pod(1, "", "Pending")),
        Told::Updated(pod(1, "", "Pending"), pod(2, "", "Running")),
    ];
    check(r#","namespaces":["b"]"#, FIRST, &told, "");
    check(r#","namespaces":["a","b"]"#, FIRST, &told, "Added 1 Watch, Updated 2 Watch");
    check(r#","fieldSelector":"status.phase=Running""#, FIRST, &told, "Added 2 Watch");
    check(r#","fieldSelector":"metadata.name!=web""#, FIRST, &told, "");
}

#[test]
fn unwanted_changes_are_counted_not_told() {
    let told = [
        Told::Added(CacheReason::Watch, pod(1, "", "Pending")),
        Told::Updated(pod(1, "", "Pending"), pod(2, RED, "Pending")),
        Told::Updated(pod(2, RED, "Pending"), pod(3, RED, "Running")),
        Told::Deleted(FinalState::Known, pod(4, RED, "Running")),
    ];
    let only_phase = r#","onlyIfChanged":["/status/phase"]"#;
    let expect = "Added 1 Watch, Updated 3 Watch, Deleted Deleted 4 Watch, filtered 1";
    check(only_phase, FIRST, &told, expect);
    let only_deletions = r#","types":["deleted"]"#;
    check(only_deletions, FIRST, &told, "Deleted Deleted 4 Watch, filtered 3");
}

#[test]
fn what_the_bytes_decide_is_decided_together() {
    let told = [
        Told::Updated(pod(1, "", "Pending"), pod(2, "", "Running")),
        Told::Updated(pod(2, "", "Running"), pod(3, RED, "Running")),
        Told::Updated(pod(3, RED, "Running"), pod(4, RED, "Running")),
        Told::Updated(pod(4, RED, "Running"), pod(5, BLUE, "Failed")),
        Told::Updated(pod(5, BLUE, "Failed"), pod(6, "", "Failed")),
    ];
    let both =
        r#","fieldSelector":"status.phase=Running","onlyIfChanged":["/metadata/labels/colour"]"#;
    let expect = "Added 2 Watch, Updated 3 Watch, Deleted LeftView 4 Watch, filtered 1";
    check(both, FIRST, &told, expect);
    let no_updates = r#","fieldSelector":"status.phase=Running","types":["added","deleted"]"#;
    let expect = "Added 2 Watch, Deleted LeftView 4 Watch, filtered 2";
    check(no_updates, FIRST, &told, expect);
}

#[test]
fn a_subscription_in_the_place_of_another_is_told_again() {
    let told = [
        Told::Added(CacheReason::Initial, pod(1, "", "Pending")),
        Told::Updated(pod(1, "", "Pending"), pod(2, "", "Running")),
    ];
    check("", Some(""), &told, "Added 1 Reload, Updated 2 Watch");
    check(r#","replay":"never""#, Some(""), &told, "Updated 2 Watch");
}

#[test]
fn what_was_there_before_is_not_told_where_nothing_is_to_be_replayed() {
    let told = [
        Told::Added(CacheReason::Initial, pod(1, "", "Pending")),
        Told::Synced,
        Told::Updated(pod(1, "", "Pending"), pod(2, "", "Running")),
        Told::Added(CacheReason::Watch, other(3)),
    ];
    check(r#","replay":"never""#, FIRST, &told, "Updated 2 Watch, Added 3 Watch");
}

#[test]
fn what_the_new_view_lacks_is_told_as_gone() {
    let blue = [Told::Added(CacheReason::Initial, pod(1, BLUE, "Running"))];
    let only_red = r#","labelSelector":"colour=red""#;
    check(only_red, Some(""), &blue, "Deleted LeftView 1 Reload");
    check(only_red, Some(only_red), &blue, "");
    let gone = [Told::Deleted(FinalState::Known, pod(1, BLUE, "Running"))];
    check(only_red, Some(""), &gone, "Deleted Deleted 1 Watch");
    let replayed_late = [
        Told::Deleted(FinalState::Known, pod(1, BLUE, "Running")),
        Told::Added(CacheReason::Watch, pod(2, BLUE, "Running")),
    ];
    check(only_red, Some(""), &replayed_late, "Deleted Deleted 1 Watch");
    let late = [Told::Synced, Told::Deleted(FinalState::Known, pod(1, BLUE, "Running"))];
    check(only_red, Some(""), &late, "");
}

#[test]
fn a_change_before_the_replay_is_one_of_what_the_plugin_was_told_before() {
    let only_red = r#","labelSelector":"colour=red""#;
    let replayed = |version, colour| Told::Added(CacheReason::Initial, pod(version, colour, ""));
    let changed = |version, before, colour| {
        Told::Updated(pod(version - 1, before, ""), pod(version, colour, ""))
    };
    // The plugin knows the blue pod. It gets its deletion from the view, and then the red pod.
    let becomes_red = [changed(2, BLUE, RED), replayed(2, RED), Told::Synced];
    check(only_red, Some(""), &becomes_red, "Deleted LeftView 1 Reload, Added 2 Watch");
    let stays_blue = [changed(2, BLUE, BLUE), changed(3, BLUE, BLUE), replayed(3, BLUE)];
    check(only_red, Some(""), &stays_blue, "Deleted LeftView 1 Reload");
    let comes_back = [changed(2, BLUE, BLUE), changed(3, BLUE, RED), replayed(3, RED)];
    check(only_red, Some(""), &comes_back, "Deleted LeftView 1 Reload, Added 3 Watch");
    let never = r#","replay":"never""#;
    check(never, Some(""), &[changed(2, BLUE, RED), replayed(2, RED)], "Updated 2 Watch");
    // The plugin does not know the blue pod. It gets the red pod as new.
    let only_blue = r#","labelSelector":"colour=blue""#;
    let stays_red = [changed(2, RED, RED), replayed(2, RED)];
    check(only_red, Some(only_blue), &stays_red, "Added 1 Reload, Updated 2 Watch");
    let stays_blue = [changed(2, BLUE, BLUE), replayed(2, BLUE)];
    check("", Some(only_red), &stays_blue, "Added 1 Reload, Updated 2 Watch");
    // The subscription between the two had not queued the pod yet.
    let blue_then_none = r#","labelSelector":"colour=blue";,"labelSelector":"colour=green""#;
    let becomes_red = [changed(2, BLUE, RED), replayed(2, RED)];
    let expect = "Deleted LeftView 1 Reload, Added 2 Watch";
    check(only_red, Some(blue_then_none), &becomes_red, expect);
    check(only_red, Some(blue_then_none), &[replayed(1, BLUE)], "Deleted LeftView 1 Reload");
    // A pod that the plugin never knew, and that the view lacks now.
    let goes = [changed(2, BLUE, RED), Told::Deleted(FinalState::Known, pod(3, RED, ""))];
    check(only_blue, Some(only_red), &goes, "");
}

#[test]
fn what_the_first_list_shows_after_a_subscription_took_anothers_place_is_new() {
    let only_red = r#","labelSelector":"colour=red""#;
    let listed = |colour| {
        let pod = pod(1, colour, "");
        [Told::Listed(pod.clone()), Told::Added(CacheReason::Initial, pod)]
    };
    check(only_red, Some(""), &listed(BLUE), "");
    check(only_red, Some(""), &listed(RED), "Added 1 Reload");
    // An object that has come into the view is no replay.
    let never = r#","replay":"never""#;
    check(never, Some(only_red), &listed(BLUE), "Added 1 Reload");
    check(never, Some(only_red), &listed(RED), "");
    let never_red = r#","replay":"never","labelSelector":"colour=red""#;
    check(never, Some(never_red), &listed(BLUE), "Added 1 Reload");
    check(never, Some(never_red), &listed(RED), "");
    let goes = [Told::Listed(pod(1, RED, "")), Told::Deleted(FinalState::Known, pod(2, RED, ""))];
    check("", Some(""), &goes, "");
}

#[test]
fn a_change_of_what_was_there_as_metadata_is_told_once_and_whole() {
    let [before, now] = [pod(1, BLUE, "").metadata_only(), pod(2, BLUE, "")];
    let told = [Told::Updated(before, now.clone()), Told::Added(CacheReason::Initial, now)];
    for keys in ["", r#","replay":"never""#, r#","types":["updated"]"#] {
        check(keys, Some(""), &told, "Updated 2 Watch");
    }
    let only_red = r#","labelSelector":"colour=red""#;
    check("", Some(only_red), &told, "Added 2 Watch");
    check(only_red, Some(""), &told, "Deleted LeftView 1 Watch");
    check(only_red, Some(only_red), &told, "");
}

#[test]
fn a_change_ahead_of_the_replay_takes_the_replay_of_its_object_along() {
    let changes = [
        Told::Updated(pod(1, "", "Pending"), pod(2, "", "Running")),
        Told::Updated(pod(2, "", "Running"), pod(3, "", "Failed")),
        Told::Added(CacheReason::Initial, pod(3, "", "Failed")),
        Told::Updated(pod(3, "", "Failed"), pod(4, "", "Failed")),
    ];
    let expect = "Added 1 Initial, Updated 2 Watch, Updated 3 Watch, Updated 4 Watch";
    check_ahead("", &changes, expect);
    let expect = "Updated 2 Watch, Updated 3 Watch, Updated 4 Watch, filtered 1";
    check_ahead(r#","types":["updated"]"#, &changes, expect);
    let comes = [
        Told::Added(CacheReason::Watch, pod(1, "", "Pending")),
        Told::Updated(pod(1, "", "Pending"), pod(2, "", "Running")),
        Told::Added(CacheReason::Initial, pod(2, "", "Running")),
    ];
    check_ahead("", &comes, "Added 1 Watch, Updated 2 Watch");
    let goes = Told::Deleted(FinalState::Known, pod(3, "", "Running"));
    let comes_and_goes = [comes[0].clone(), goes];
    check_ahead("", &comes_and_goes, "Added 1 Watch, Deleted Deleted 3 Watch");
}

#[test]
fn what_would_not_be_told_ahead_of_the_replay_is_left_to_it() {
    let changed = [
        Told::Updated(pod(1, "", "Pending"), pod(2, RED, "Pending")),
        Told::Added(CacheReason::Initial, pod(2, RED, "Pending")),
    ];
    check_ahead(r#","onlyIfChanged":["/status/phase"]"#, &changed, "Added 2 Initial");
    check_ahead(r#","types":["added"]"#, &changed, "Added 2 Initial");
    let listed = [
        Told::Listed(pod(1, "", "Pending")),
        Told::Added(CacheReason::Initial, pod(1, "", "Pending")),
    ];
    check_ahead("", &listed, "Added 1 Initial");
}

#[test]
fn the_end_of_an_object_ahead_of_the_replay_is_told_to_who_hears_of_ends_alone() {
    let goes = [Told::Deleted(FinalState::Known, pod(2, RED, "Pending"))];
    check_ahead("", &goes, "");
    check_ahead(r#","types":["updated","deleted"]"#, &goes, "Deleted Deleted 2 Watch");
    let red = r#","labelSelector":"colour=red""#;
    let leaves = [
        Told::Updated(pod(1, RED, ""), pod(2, BLUE, "")),
        Told::Updated(pod(2, BLUE, ""), pod(3, RED, "")),
        Told::Added(CacheReason::Initial, pod(3, RED, "")),
    ];
    check_ahead(red, &leaves, "Added 3 Watch");
    let expect = "Deleted LeftView 1 Watch, filtered 2";
    check_ahead(&format!(r#"{red},"types":["deleted"]"#), &leaves, expect);
}

/// A pod of the same name with another UID.
fn other(version: u64) -> Object {
    let json = String::from_utf8(pod(version, RED, "Pending").json().to_vec()).expect("text");
    let json = json.replace(r#""uid":"1""#, r#""uid":"2""#);
    Object::decode(json.as_bytes(), None).expect("it is well formed")
}

#[test]
fn the_end_of_what_a_host_before_told_of_is_told_after_the_list() {
    let gone = "Deleted Unknown 1 Relist";
    check_knowing("", None, &[Told::Synced], gone);
    check_knowing("", None, &[Told::Synced, Told::Synced], gone);
    let red = r#","labelSelector":"colour=red""#;
    check_knowing(red, Some(pod(2, BLUE, "Running")), &[Told::Synced], gone);
    check_knowing("", None, &[], "");
    // The deletion is also queued if the subscription is replaced before the list is complete.
    check_knowing(r#";,"labelSelector":"colour=blue""#, None, &[Told::Synced], gone);
    check_knowing(r#","types":["added"]"#, None, &[Told::Synced], "filtered 1");
}

#[test]
fn what_lives_or_was_told_of_since_is_not_told_as_gone() {
    let never = r#","replay":"never""#;
    check_knowing(never, Some(pod(2, RED, "Running")), &[Told::Synced], "");
    let told = [Told::Added(CacheReason::Initial, pod(2, RED, "Running")), Told::Synced];
    check_knowing("", Some(pod(2, RED, "Running")), &told, "Added 2 Initial");
    let told = [Told::Deleted(FinalState::Known, pod(3, RED, "Running")), Told::Synced];
    check_knowing("", None, &told, "Deleted Deleted 3 Watch");
}

#[test]
fn another_object_of_its_name_comes_after_its_end() {
    let told = [Told::Added(CacheReason::Initial, other(5)), Told::Synced];
    check_knowing("", Some(other(5)), &told, "Deleted Unknown 1 Relist, Added 5 Initial");
    check_knowing(r#","replay":"never""#, Some(other(5)), &told[1..], "Deleted Unknown 1 Relist");
}
