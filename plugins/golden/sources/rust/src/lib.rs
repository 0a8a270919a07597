//! The golden plugin in Rust. Its twins in the other languages do the same, call by call.

use std::time::Duration;

use informant_plugin::event_data::Side;
use informant_plugin::http::{self, Request};
use informant_plugin::kube::{self, Patch};
use informant_plugin::log::{Level, log};
use informant_plugin::prelude::*;
use informant_plugin::{
    EnqueueRule, Every, Http, Index, Reconciler, Schedule, Stateful, SyncAware, Timer, Verb, Write,
    event_data, host_info, metrics, state, workqueue,
};
use serde_json::{Value, json};

const PODS: &str = "v1/pods";
const APP: &str = "/metadata/labels/app";
const ORIGIN: &str = "https://golden.example";

/// The plugin.
pub struct Golden;

impl Plugin for Golden {
    fn describe(_: &Config) -> Result<Descriptor> {
        let keys = EnqueueRule::itself().prefix("config/");
        Ok(Descriptor::new("0.1.0")
            .subscribe(Subscription::to(PODS).with_old())
            .subscribe(Subscription::to("v1/configmaps").enqueue(keys))
            .index(Index::new(PODS, "app", APP))
            .write(Write::of(PODS, [Verb::Patch]))
            .http(Http::to(ORIGIN, [http::Method::Post]))
            .schedule(Schedule::new("minutely", Every::Period(Duration::from_secs(60)))))
    }

    fn start(config: &Config) -> Result<Self> {
        let config: Value = config.parse()?;
        log(Level::Info, "started", &[("greeting", &config["greeting"].as_str().unwrap_or(""))]);
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        match (event.key().name.as_str(), event.attempt()) {
            ("fails", 1) => {
                let wait = Duration::from_millis(50);
                return Err(Failure::new("asked to fail").retry_after(wait));
            }
            ("gives-up", _) => return Err(Failure::new("asked to give up").never_retry()),
            _ => {}
        }
        let old = if event.old_json().is_some() { "there" } else { "none" };
        let (change, reason) = (event.change(), event.reason());
        log(
            Level::Info,
            "told",
            &[("change", &change), ("reason", &reason), ("key", event.key()), ("old", &old)],
        );
        match event.change() {
            Change::Added => read(&event),
            Change::Updated => write(&event),
            Change::Deleted => Ok(()),
        }
    }

    fn stop(&mut self) {
        log(Level::Info, "stopped", &[]);
    }
}

/// Everything that reads and counts.
fn read(event: &Event) -> Result {
    let field = event_data::fields(Side::New, &[APP]).swap_remove(0).unwrap_or_default();
    let app: String = serde_json::from_str(&field)?;
    let fields = indexer::fields(PODS, event.key(), &[APP, "/none"])?.unwrap_or_default();
    let absent = indexer::get_json(PODS, &ObjectKey::new("shop", "absent"))?;
    let listed = indexer::list::<Value>(PODS).in_namespace("shop").labels("app=web").count();
    let filed = indexer::by_index::<Value>(PODS, "app", "web").count();
    let keys = indexer::index_keys(PODS, "app", "web").count();
    let values = indexer::index_values(PODS, "app").count();
    let pods = indexer::count(PODS, None)?;
    let synced = if indexer::has_synced(PODS)? { "yes" } else { "no" };
    let seen = state::get_json::<u64>("seen")?.unwrap_or(0) + 1;
    state::set_json("seen", &seen)?;
    let kept = state::keys("")?.len();
    metrics::counter_add("golden_total", &[("app", &app)], 1.0)?;
    metrics::gauge_set("golden_pods", &[], 2.0)?;
    metrics::histogram_observe("golden_seconds", &[], 0.5)?;
    workqueue::add(&event.key().to_string());
    let found = format!("{listed} {filed} {keys} {values} {pods}");
    let none = if absent.is_none() && fields[1].is_none() { "none" } else { "there" };
    log(
        Level::Info,
        "read",
        &[
            ("app", &app),
            ("found", &found),
            ("absent", &none),
            ("synced", &synced),
            ("seen", &seen),
            ("kept", &kept),
            ("plugin", &host_info::plugin_name()),
        ],
    );
    Ok(())
}

/// Everything that is sent.
fn write(event: &Event) -> Result {
    let changed = if event_data::changed("/metadata/labels") { "changed" } else { "the same" };
    let patch = Patch::merge(json!({"metadata": {"annotations": {"golden": "seen"}}}));
    kube::patch(PODS, event.key(), &patch).map_err(kube::Error::into_failure)?;
    let request = Request::post(format!("{ORIGIN}/pods")).body(event.key().to_string());
    let answer = request.send().map_err(http::Error::into_failure)?;
    let status = answer.status();
    log(
        Level::Warn,
        "sent",
        &[("labels", &changed), ("status", &status), ("answer", &answer.text())],
    );
    Ok(())
}

impl Reconciler for Golden {
    fn reconcile(&mut self, key: &str, attempt: u32) -> Result<Option<Duration>> {
        let waiting = workqueue::len();
        log(
            Level::Info,
            "reconciled",
            &[("key", &key), ("attempt", &attempt), ("waiting", &waiting)],
        );
        let once = format!("once/{key}");
        if state::get(&once)?.is_some() {
            return Ok(None);
        }
        state::set_json(&once, &attempt)?;
        Ok(Some(Duration::from_secs(1)))
    }
}

impl Timer for Golden {
    fn fire(&mut self, schedule: &str, unix_ms: u64) -> Result {
        log(Level::Info, "fired", &[("schedule", &schedule), ("at", &unix_ms)]);
        Ok(())
    }
}

impl SyncAware for Golden {
    fn synced(&mut self, subscription: u32) -> Result {
        log(Level::Info, "synced", &[("subscription", &subscription)]);
        Ok(())
    }
}

impl Stateful for Golden {
    fn snapshot(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(Some(b"\"carried\"".to_vec()))
    }

    fn restore(&mut self, from_version: &str, _: Vec<u8>) -> Result {
        log(Level::Info, "restored", &[("from", &from_version)]);
        Ok(())
    }
}

export_plugin!(Golden, reconciler, timer, sync_aware, stateful);
