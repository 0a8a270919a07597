//! Asks for what it may not have on a pod named `forges…`: Secrets, cursors that it made up or got for something else, keys that are
//! none, a selector without end. It traps if any of it is answered, and else logs `refused: …` for each.
//!
//! The host must refuse each with a reason, begin to cache nothing for it, and keep the instance.

use informant_plugin::bindings::informant::plugin::event_data::{self, Side};
use informant_plugin::bindings::informant::plugin::indexer as host;
use informant_plugin::{Change, ObjectKey, info};

const PODS: &str = "v1/pods";

test_guests::sin!(Forges, "forges", |event| {
    let key = |namespace: &str, name: &str| ObjectKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let secret = key("kube-system", "token");
    refused("a Secret", host::get("v1/secrets", &secret));
    refused("all Secrets", host::list("v1/secrets", None, "", 0, None));
    refused("Secrets, counted", host::count("v1/secrets", None));
    refused("a resource that is none", host::count("../pods", None));
    refused("an index that nobody declared", host::by_index(PODS, "by-node", "n", 0, None));
    refused("a selector without end", host::list(PODS, None, &"a,".repeat(1 << 20), 0, None));
    let made_up = [
        "",
        "made up",
        "\u{0}",
        "default/../../secrets",
        "AAAAAAAAAAAAAAAAAAAAAAAA",
        "{\"namespace\":\"kube-system\"}",
    ];
    for cursor in made_up {
        held_to_pods(
            &format!("the cursor {cursor:?}"),
            host::list(PODS, None, "", 1, Some(cursor)),
        );
    }
    let long = "x".repeat(1 << 20);
    held_to_pods("a cursor of 1 MiB", host::list(PODS, None, "", 1, Some(&long)));
    for (namespace, name) in [("..", "../x"), ("", ""), ("default", &long), ("a/b", "c\u{0}d")] {
        let found = host::get(PODS, &key(namespace, name));
        assert!(!matches!(found, Ok(Some(_))), "an object was found under a key that is none");
    }
    if event.change() == Change::Added {
        let nothing = event_data::fields(Side::Old, &["/metadata/name".to_owned()]);
        assert!(nothing.iter().all(Option::is_none), "an event without an old state has one");
    }
    info!("forgeries done on {}", event.key());
    Ok(())
});

/// The host said no.
fn refused<T>(what: &str, answer: Result<T, host::Error>) {
    match answer {
        Err(error) => info!("refused: {what}: {error:?}"),
        Ok(_) => panic!("{what} was answered"),
    }
}

/// A cursor is only a place in a list: whatever it is, no more than that list can come of it.
fn held_to_pods(what: &str, answer: Result<host::Page, host::Error>) {
    let Ok(page) = answer else { return refused(what, answer) };
    for item in page.items {
        let text = String::from_utf8_lossy(&item);
        assert!(text.contains("\"kind\":\"Pod\""), "{what} led to something else than a pod");
    }
    info!("harmless: {what}");
}
