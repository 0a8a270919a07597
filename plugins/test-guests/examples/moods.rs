//! Is what its configuration says: a handler, a controller or a timer, of a resource, that works, fails, gives up, traps, is slow, does not start or fails to
//! hear that a subscription has synced. It may write or send a request before that, and pass over the answer.
//!
//! The host must show each of its states, with the reason, wherever it shows plugins, and lose no work for a write that fails for a while.

use std::time::Duration;

use informant_plugin::http::{self, Method, Request};
use informant_plugin::kube::{self, Patch};
use informant_plugin::prelude::*;
use informant_plugin::{
    EnqueueRule, Every, Http, Read, Reconciler, Schedule, SyncAware, Timer, Verb, Write,
};
use serde::Deserialize;
use serde_json::{Value, json};
use test_guests::system::wasi::clocks::monotonic_clock::subscribe_duration;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    r#as: Kind,
    resource: String,
    namespace: String,
    #[serde(default)]
    mood: Mood,
    /// Whether each call begins with a write.
    #[serde(default)]
    writes: bool,
    /// Where each call sends a request, if it does.
    #[serde(default)]
    asks: Option<String>,
    /// Milliseconds.
    #[serde(default)]
    start_time: u64,
    /// Milliseconds from one moment of a timer to the next.
    #[serde(default = "half_a_second")]
    every: u64,
    /// The server to which each call sends a request, which the descriptor asks for.
    #[serde(default)]
    origin: Option<String>,
    /// Of a timer.
    #[serde(default = "one")]
    schedules: usize,
}

fn half_a_second() -> u64 {
    500
}

fn one() -> usize {
    1
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Handler,
    Controller,
    Timer,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mood {
    #[default]
    Fine,
    Fails,
    /// It wants to be called again at once.
    FailsSoon,
    GivesUp,
    Traps,
    /// It panics where its write fails.
    Unwraps,
    /// Each call takes half a second.
    Slow,
    /// It changes the object as the cache has it, and puts that in its place.
    Replaces,
    /// It asks for writes.
    Asks,
    DoesNotStart,
    /// Each call succeeds but the one which says that it has synced.
    FailsToSync,
}

/// The plugin.
pub struct Moods(Options);

impl Moods {
    fn be(&self, about: &str) -> Result {
        let written = if self.0.writes { self.write() } else { Ok(()) }.and_then(|()| self.ask());
        let failure = || Failure::new(format!("the mood is bad, {about}"));
        match self.0.mood {
            Mood::Fails => Err(failure()),
            Mood::FailsSoon => Err(failure().retry_after(Duration::from_millis(10))),
            Mood::GivesUp => Err(failure().never_retry()),
            Mood::Traps => panic!("the mood is bad, {about}"),
            Mood::Slow => {
                sleep(Duration::from_millis(500));
                Ok(())
            }
            Mood::Unwraps => {
                written.expect("the write succeeds");
                Ok(())
            }
            Mood::Replaces => self.replace(about),
            Mood::Fine | Mood::Asks | Mood::DoesNotStart | Mood::FailsToSync => written,
        }
    }

    fn ask(&self) -> Result {
        let of_origin = self.0.origin.as_ref().map(|origin| format!("{origin}/ok"));
        let url = self.0.asks.clone().or(of_origin);
        let sent = url.map(|url| Request::new(Method::Get, url).send());
        sent.transpose().map(drop).map_err(http::Error::into_failure)
    }

    fn replace(&self, about: &str) -> Result {
        let key = about.split_once('/').map_or_else(
            || ObjectKey::new("", about),
            |(namespace, name)| ObjectKey::new(namespace, name),
        );
        let Some(mut object) = indexer::get::<Value>(&self.0.resource, &key)? else {
            return Ok(());
        };
        let data = json!({"replaced": "yes"});
        if object["data"] == data {
            return Ok(());
        }
        object["data"] = data;
        let written = kube::update(&self.0.resource, &key, &object);
        written.map(drop).map_err(kube::Error::into_failure)
    }

    fn write(&self) -> Result {
        let object = ObjectKey::new(self.0.namespace.as_str(), "mood");
        let patch = Patch::merge(json!({"metadata": {"labels": {}}}));
        let written = kube::patch("v1/configmaps", &object, &patch);
        written.map(drop).map_err(kube::Error::into_failure)
    }
}

fn sleep(time: Duration) {
    subscribe_duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)).block();
}

impl Plugin for Moods {
    fn describe(config: &Config) -> Result<Descriptor> {
        let Options { r#as, resource, namespace, mood, every, schedules, origin, .. } =
            config.parse()?;
        let view = || Subscription::to(resource.clone()).in_namespace(namespace.clone());
        let descriptor = Descriptor::new(env!("CARGO_PKG_VERSION"));
        let descriptor = match r#as {
            Kind::Handler => descriptor.subscribe(view()),
            Kind::Controller => descriptor.subscribe(view().enqueue(EnqueueRule::itself())),
            Kind::Timer => {
                let read = Read::of(resource.clone()).in_namespace(namespace.clone());
                let period = || Every::Period(Duration::from_millis(every));
                let schedule = |number| Schedule::new(format!("tick-{number}"), period());
                (0..schedules).map(schedule).fold(descriptor.read(read), Descriptor::schedule)
            }
        };
        let descriptor = match origin {
            Some(origin) => descriptor.http(Http::to(origin, [Method::Get])),
            None => descriptor,
        };
        Ok(match mood {
            Mood::Asks => descriptor.write(Write::of("v1/configmaps", [Verb::Patch])),
            _ => descriptor,
        })
    }

    fn start(config: &Config) -> Result<Self> {
        let options: Options = config.parse()?;
        sleep(Duration::from_millis(options.start_time));
        match options.mood {
            Mood::DoesNotStart => Err(Failure::new("the mood is too bad to start")),
            _ => Ok(Self(options)),
        }
    }

    fn handle(&mut self, event: Event) -> Result {
        self.be(&event.key().to_string())
    }
}

impl Reconciler for Moods {
    fn reconcile(&mut self, key: &str, _: u32) -> Result<Option<Duration>> {
        self.be(key).map(|()| None)
    }
}

impl SyncAware for Moods {
    fn synced(&mut self, _: u32) -> Result {
        match self.0.mood {
            Mood::FailsToSync => Err(Failure::new("the mood is bad, synced")),
            _ => Ok(()),
        }
    }
}

impl Timer for Moods {
    fn fire(&mut self, schedule: &str, _: u64) -> Result {
        self.be(schedule)
    }
}

export_plugin!(Moods, reconciler, sync_aware, timer);
