//! Events that wait while their subscription changes.

use super::*;
use crate::contract::descriptor::Descriptor;
use crate::delivery::mailbox::Attempts;
use crate::event::EventKeys;
use crate::event::Reason;
use std::time::Instant;

fn pod(version: u32, colour: &str) -> Object {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","uid":"u","resourceVersion":"{version}","labels":{{"colour":"{colour}"}}}}}}"#
    );
    Object::decode(json.as_bytes(), None).expect("the test's pod is well formed")
}

/// `+red` adds the object, and `=red` adds it again for a plugin that knows it. `~red>blue` updates it, `-red` deletes
/// it, and `<red` takes it out of the view. A number in front is the attempt. An event that ends in `!` was queued for
/// the new version. Versions of the object count up.
fn queued(text: &str, version: u32) -> Queued {
    let is_new = text.ends_with('!');
    let text = text.trim_end_matches('!');
    let (attempt, text) = text.split_at(usize::from(text.starts_with(|c: char| c.is_numeric())));
    let (sign, colours) = text.split_at(1);
    let (change, gone) = match sign {
        "+" | "=" => (Change::Added, None),
        "~" => (Change::Updated, None),
        "-" => (Change::Deleted, Some(Gone::Deleted)),
        _ => (Change::Deleted, Some(Gone::LeftView)),
    };
    let (old, new) = colours.split_once('>').map_or((None, colours), |(o, n)| (Some(o), n));
    let event = Event {
        subscription: SubscriptionId(1),
        asked_by: if is_new { 2 } else { 1 },
        change,
        reason: Reason::Watch,
        gone,
        object: pod(version, new),
        old: old.map(|old| pod(version - 1, old)),
        coalesced: 0,
        letters: Vec::new(),
        received: Instant::now(),
        before_sync: false,
        knew: sign == "=",
        keys: EventKeys::default(),
    };
    let tried = Attempts { number: attempt.parse().unwrap_or(1), ..Attempts::NONE };
    Queued { event: event.into(), tried, seq: u64::from(version) }
}

/// Delivers the events one by one to a version with a subscription to blue objects and the additional `keys`. Each
/// call succeeds.
#[track_caller]
fn check(keys: &str, events: &str, expect: &str) {
    let descriptor = format!(
        r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods","labelSelector":"colour=blue"{keys}}}]}}"#
    );
    let descriptor = Descriptor::parse(descriptor.as_bytes()).expect("a descriptor");
    let wish = Wish::from(&*descriptor.subscriptions[0]);
    let mut reevaluation = Reevaluation::default();
    let mut told = Vec::new();
    for (text, version) in events.split(' ').zip(2..) {
        let queued = queued(text, version);
        let seen = reevaluation.see(&queued, 2, &wish);
        let event = match &seen {
            Some(seen) => seen.event.as_ref(),
            None => Some(&queued.event),
        };
        if let Some(event) = event {
            let gone = event.gone.map(|gone| format!(" {gone:?}")).unwrap_or_default();
            told.push(format!("{:?}{gone} {}", event.change, event.object.resource_version()));
        }
        reevaluation.settle(&queued.event, 2, seen.as_ref());
    }
    assert_eq!(told.join(", "), expect, "{events}");
}

#[test]
fn an_old_event_is_what_it_is_for_the_new_view() {
    check("", "+blue", "Added 2");
    check("", "+red", "");
    check("", "~red>blue", "Updated 2");
    check("", "~red>red", "Deleted LeftView 1");
    check("", "<red", "Deleted LeftView 2");
    check("", "-red", "Deleted Deleted 2");
}

#[test]
fn what_follows_goes_by_what_was_told() {
    check("", "+red ~red>red -red", "");
    check("", "+red ~red>blue ~blue>blue", "Added 3, Updated 4");
    check("", "~red>red ~red>red -red", "Deleted LeftView 1");
    check("", "~blue>red <red +blue", "Deleted LeftView 1, Added 4");
}

#[test]
fn the_first_new_event_goes_by_it_too_and_the_next_by_the_view() {
    check("", "+red ~red>blue!", "Added 3");
    check("", "+red <red!", "");
    check("", "+red -red!", "");
    check("", "~red>red -red! +blue! ~blue>blue!", "Deleted LeftView 1, Added 4, Updated 5");
    check("", "+blue +blue! ~blue>blue!", "Added 2, Added 3, Updated 4");
}

#[test]
fn what_is_added_again_was_told() {
    check("", "=red", "Deleted LeftView 2");
    check("", "=red -red!", "Deleted LeftView 2");
    check("", "=red <red!", "Deleted LeftView 2");
    check("", "=blue", "Added 2");
    check("", "+red =red", "");
}

#[test]
fn what_was_attempted_was_told() {
    check("", "2+red", "Deleted LeftView 2");
    check("", "2+blue", "Added 2");
    check("", "+red 2~red>red", "Deleted LeftView 2");
}

#[test]
fn types_and_what_must_change_are_those_of_the_new_version() {
    check(r#","types":["deleted"]"#, "+blue ~blue>blue -blue", "Deleted Deleted 4");
    check(r#","onlyIfChanged":["/metadata/labels"]"#, "~red>blue ~blue>blue", "Updated 2");
}

/// Whether a waiting event with the metadata of an object is delivered to the new version.
#[track_caller]
fn check_metadata(keys: &str, text: &str, expect: bool) {
    let descriptor =
        format!(r#"{{"version":"1","subscriptions":[{{"resource":"v1/pods"{keys}}}]}}"#);
    let descriptor = Descriptor::parse(descriptor.as_bytes()).expect("a descriptor");
    let queued = queued(text, 2);
    let event = Event::clone(&queued.event);
    let event = Event { object: event.object.metadata_only(), ..event };
    let queued = Queued { event: event.into(), ..queued };
    let seen = Reevaluation::default().see(&queued, 2, &Wish::from(&*descriptor.subscriptions[0]));
    assert_eq!(seen.expect("it is old").event.is_some(), expect, "{keys} {text}");
}

#[test]
fn an_object_that_is_not_whole_comes_again_to_a_version_that_needs_it_whole() {
    for text in ["+blue", "~red>blue", "2+blue"] {
        check_metadata("", text, false);
        check_metadata(r#","delivery":"metadata""#, text, true);
        check_metadata(r#","replay":"never""#, text, true);
    }
    check_metadata("", "-blue", true);
    check_metadata(r#","types":["updated"]"#, "~red>blue", true);
    let by_node = r#","delivery":"metadata","fieldSelector":"spec.nodeName=n""#;
    check_metadata(by_node, "~red>blue", false);
}

#[test]
fn what_is_not_old_is_told_as_it_is() {
    check("", "+red! ~red>red! -red!", "Added 2, Updated 3, Deleted Deleted 4");
}

#[test]
fn what_is_remembered_is_looked_at_now_and_then_until_it_is_forgotten() {
    let (id, mut reevaluation) = (SubscriptionId(1), Reevaluation::default());
    assert!((0..2 * LOOK_EVERY).all(|_| !reevaluation.is_look_due()), "there is nothing");
    let event = queued("+red", 2).event;
    reevaluation.settle(&event, 2, Some(&Seen { event: None, told: false }));
    let looks = (0..4 * LOOK_EVERY).filter(|_| reevaluation.is_look_due()).count();
    assert_eq!(looks, 4);
    reevaluation.retain(|kept| kept != id);
    assert!((0..2 * LOOK_EVERY).all(|_| !reevaluation.is_look_due()), "it is forgotten");
}
