//! The content of an event for each kind of delivery.

use informant_plugin::event_data::{self, Side};
use informant_plugin::prelude::*;
use informant_plugin::testing::{Host, TestEvent, added, deleted, updated};
use informant_plugin::{Delivery, Retry};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Logs its events. The configuration sets its subscription.
struct Teller;

#[derive(Deserialize)]
struct Thing {
    size: u32,
}

impl Plugin for Teller {
    fn describe(config: &Config) -> Result<Descriptor> {
        let things = Subscription::to("v1/things");
        let things = match config.parse::<String>()?.as_str() {
            "lazy" => things.delivery(Delivery::Lazy).with_old(),
            "with-old" => things.with_old(),
            "sizes" => things.only_if_changed("/size").only_if_changed("/*"),
            "updates" => things.only([Change::Updated]),
            _ => things,
        };
        Ok(Descriptor::new("1").subscribe(things))
    }

    fn start(_: &Config) -> Result<Self> {
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        let old = event.old::<Thing>()?.map_or("?".to_owned(), |old| old.size.to_string());
        let size = event.object::<Thing>()?.size;
        info!("{} {} {old} -> {size}", event.change(), event.key());
        match size {
            500 => Err("busy").retry_after(Duration::from_secs(5)),
            _ => Ok(()),
        }
    }
}

fn thing(size: impl Into<Value>) -> Value {
    json!({"metadata": {"name": "one", "uid": "u-1", "resourceVersion": "7"}, "size": size.into()})
}

#[track_caller]
fn check(delivery: &str, event: TestEvent, expected: &str) {
    let host = Host::new();
    let mut teller = host.start::<Teller>(delivery).expect("the plugin starts");
    teller.handle(event).expect("the event is handled");
    assert_eq!(host.messages(), [expected]);
}

#[track_caller]
fn check_failure(event: TestEvent, expected: &str, retry: Retry) {
    let mut teller = Host::new().start::<Teller>("full").expect("the plugin starts");
    let failure = teller.handle(event).expect_err("the event fails");
    assert!(failure.message().contains(expected), "{}", failure.message());
    assert_eq!(failure.retry(), retry);
}

#[test]
fn old_comes_only_where_it_was_asked_for() {
    check("full", updated(thing(1), thing(2)), "updated one ? -> 2");
    check("with-old", updated(thing(1), thing(2)), "updated one 1 -> 2");
    check("full", added(thing(1)), "added one ? -> 1");
}

#[test]
fn a_deletion_brings_the_last_state_always() {
    check("full", deleted(thing(3)), "deleted one 3 -> 3");
    check("lazy", deleted(thing(3)), "deleted one 3 -> 3");
}

#[test]
fn a_lazy_event_is_asked_of_the_host() {
    check("lazy", updated(thing(1), thing(2)), "updated one 1 -> 2");
}

#[test]
fn an_event_that_the_subscription_leaves_out_is_not_delivered() {
    let host = Host::new();
    let mut teller = host.start::<Teller>("sizes").expect("the plugin starts");
    let renamed = |size: u32| json!({"metadata": {"name": "two"}, "size": size});
    for event in [updated(thing(1), renamed(1)), updated(thing(1), thing(2)), added(thing(3))] {
        teller.handle(event).expect("the event is handled");
    }
    teller.handle(updated(thing(4), thing(4)).reason(Reason::Resync)).expect("it is handled");
    let sizes = ["updated one ? -> 2", "added one ? -> 3", "updated one ? -> 4"];
    assert_eq!(host.messages(), sizes);
    let mut teller = host.start::<Teller>("updates").expect("the plugin starts");
    teller.handle(added(thing(5))).expect("it is handled");
    teller.handle(updated(thing(5), thing(6))).expect("it is handled");
    assert_eq!(host.messages()[3..], ["updated one ? -> 6"]);
}

#[test]
fn an_object_that_does_not_fit_is_not_retried() {
    check_failure(added(thing("large")), "the object of one does not fit its type", Retry::Never);
}

#[test]
fn a_failure_keeps_its_delay() {
    check_failure(added(thing(500)), "busy", Retry::After(Duration::from_secs(5)));
}

#[test]
fn an_unknown_subscription_is_the_tests_own_mistake() {
    check_failure(
        added(thing(1)).subscription(1),
        "the plugin has no subscription 1",
        Retry::Backoff,
    );
}

#[test]
fn event_data_is_there_only_inside_handle() {
    struct Asker;

    impl Plugin for Asker {
        fn describe(_: &Config) -> Result<Descriptor> {
            let things = Subscription::to("v1/things").with_old().delivery(Delivery::Lazy);
            Ok(Descriptor::new("1").subscribe(things))
        }

        fn start(_: &Config) -> Result<Self> {
            Ok(Self)
        }

        fn handle(&mut self, event: Event) -> Result {
            let sizes = [Side::Old, Side::New].map(|side| event_data::fields(side, &["/size"]));
            info!("{sizes:?} {}", event_data::changed("/size"));
            info!("{} {}", event_data::changed("/metadata"), event.resource_version());
            Ok(())
        }
    }

    let host = Host::new();
    let mut asker = host.start::<Asker>(json!({})).expect("the plugin starts");
    asker.handle(updated(thing(1), thing(2))).expect("the event is handled");
    assert_eq!(host.messages(), [r#"[[Some("1")], [Some("2")]] true"#, "false 7"]);
    assert_eq!(event_data::json(Side::New), None);
}
