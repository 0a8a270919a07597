//! A plugin's own state, through the SDK's own functions.

use informant_plugin::prelude::*;
use informant_plugin::state;
use informant_plugin::testing::{Host, added};
use serde_json::json;

/// Changes its state as the pod's name says: `set`, `remove`, `fail` after setting, `compare`, `large`.
struct Keeper;

impl Plugin for Keeper {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(Descriptor::new("1").subscribe(Subscription::to("v1/pods")))
    }

    fn start(_: &Config) -> Result<Self> {
        info!("starts with {:?}", state::get_json::<u8>("k")?);
        info!("{}", state::set("k", b"1").expect_err("it is no `handle`").message());
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        match event.key().name.as_str() {
            "set" => state::set_json("k", &7)?,
            "remove" => state::remove("k")?,
            "fail" => {
                state::set_json("k", &8)?;
                info!("sees {:?}", state::get_json::<u8>("k")?);
                return Err("asked to".into());
            }
            "compare" => {
                let is_set = state::compare_and_set("l", None, Some(b"1"))?;
                info!("{is_set} {}", state::compare_and_set("l", None, Some(b"2"))?);
            }
            _ => state::set("large", &[0; 1 << 20])?,
        }
        info!("{:?}", state::keys("")?);
        Ok(())
    }
}

/// Checks the log and the state after events for these pods. Before them, `k` has the value 5.
#[track_caller]
fn check(pods: &[&str], expect: &[&str], left: Option<&[u8]>) {
    let host = Host::new();
    host.set_state("k", b"5");
    let mut plugin = host.start::<Keeper>(json!({})).expect("it starts");
    let start =
        ["starts with Some(5)", "state is written in `handle`, `reconcile` and `fire` only"];
    assert_eq!(host.messages(), start);
    let mut answers = Vec::new();
    for pod in pods {
        let told = plugin.handle(added(json!({"metadata": {"namespace": "n", "name": pod}})));
        answers.extend(told.err().map(|failure| failure.message().to_owned()));
    }
    let said = [&host.messages()[start.len()..], &answers].concat();
    assert_eq!(said, expect);
    assert_eq!(host.state("k").as_deref(), left);
}

#[test]
fn what_a_call_wrote_is_there_once_it_succeeded() {
    check(&["set"], &[r#"["k"]"#], Some(b"7"));
    check(&["remove"], &["[]"], None);
    check(&["fail"], &["sees Some(8)", "asked to"], Some(b"5"));
    check(&["compare"], &["true false", r#"["k", "l"]"#], Some(b"5"));
}

#[test]
fn too_much_is_refused() {
    let text = "1048583 bytes, at most 1048576 are kept; remove some";
    check(&["large"], &[text], Some(b"5"));
}
