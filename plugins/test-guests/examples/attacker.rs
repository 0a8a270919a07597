//! Tries what its configuration says on a pod named `attacker…`, one call of the host after the other, and logs of each `tried NAME: refused: …` or
//! `tried NAME: answered: …`. What it subscribes to and which indexes it declares stands there, too. Without a configuration it tries nothing.
//!
//! What the host must do about each stands beside each, in `host/e2e/tests/it/attacks`.

use informant_plugin::bindings::informant::plugin::{http, indexer, kube, log, metrics, state};
use informant_plugin::prelude::*;
use informant_plugin::{Index, Read};
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    /// Pods with these labels, in these namespaces; all of them by default.
    labels: Option<String>,
    namespaces: Vec<String>,
    reads: Vec<String>,
    /// Name and pointer, on pods.
    indexes: Vec<(String, String)>,
    tries: Vec<Try>,
    /// The same in `describe` and `start`, which stands behind their names.
    early: Vec<Try>,
}

/// One call.
#[derive(Deserialize)]
struct Try {
    name: String,
    /// The function, with its interface before it where it is not one of `indexer` or `kube`.
    call: String,
    #[serde(default)]
    resource: String,
    #[serde(default)]
    namespace: Option<String>,
    /// An object's name, an index's, a key of `state`, a metric's name, a reason, a request's method.
    #[serde(default)]
    of: String,
    #[serde(default)]
    subresource: String,
    /// A body, a value, a selector, a message, a URL.
    #[serde(default)]
    text: String,
    #[serde(default)]
    cursor: Option<String>,
    /// Fields of a line, labels of a metric, headers of a request.
    #[serde(default)]
    pairs: Vec<(String, String)>,
}

type Outcome = std::result::Result<String, String>;

/// The plugin.
pub struct Attacker {
    tries: Vec<Try>,
}

impl Plugin for Attacker {
    fn describe(config: &Config) -> Result<Descriptor> {
        let Options { labels, namespaces, reads, indexes, early, .. } = config.parse()?;
        early.iter().for_each(|one| one.tell(" in describe"));
        let pods = Subscription::to("v1/pods");
        let pods = namespaces.into_iter().fold(pods, Subscription::in_namespace);
        let pods = labels.into_iter().fold(pods, Subscription::labels);
        let descriptor = Descriptor::new(env!("CARGO_PKG_VERSION")).subscribe(pods);
        let descriptor = reads.into_iter().map(Read::of).fold(descriptor, Descriptor::read);
        let index = |(name, pointer)| Index::new("v1/pods", name, pointer);
        Ok(indexes.into_iter().map(index).fold(descriptor, Descriptor::index))
    }

    fn start(config: &Config) -> Result<Self> {
        let Options { tries, early, .. } = config.parse()?;
        early.iter().for_each(|one| one.tell(" in start"));
        Ok(Self { tries })
    }

    fn handle(&mut self, event: Event) -> Result {
        if event.change() != Change::Added || !test_guests::is_asked_for("attacker", &event) {
            test_guests::behave(&event);
            return Ok(());
        }
        self.tries.iter().for_each(|one| one.tell(""));
        info!("tried everything on {}", event.key());
        Ok(())
    }
}

impl Try {
    fn tell(&self, place: &str) {
        let name = &self.name;
        match self.outcome() {
            Ok(answer) => info!("tried {name}{place}: answered: {answer}"),
            Err(refusal) => info!("tried {name}{place}: refused: {refusal}"),
        }
    }

    fn outcome(&self) -> Outcome {
        match self.call.split_once('.') {
            Some(("kube", call)) => self.kube(call),
            Some(("state", call)) => self.state(call),
            Some(("metrics", call)) => self.metrics(call),
            Some(("http", _)) => self.http(),
            Some(("log", _)) => {
                log::log(log::Level::Info, &self.text, &self.pairs);
                Ok(String::new())
            }
            _ => self.indexer(),
        }
    }

    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace.as_deref().unwrap_or_default(), self.of.as_str())
    }

    fn indexer(&self) -> Outcome {
        let Self { resource, of, text, .. } = self;
        let (namespace, cursor) = (self.namespace.as_deref(), self.cursor.as_deref());
        let shown = match self.call.as_str() {
            "get" => indexer::get(resource, &self.key()).map(|it| shown(it.into_iter())),
            "fields" => {
                let pointers = [text.clone()];
                indexer::fields(resource, &self.key(), &pointers).map(|it| format!("{it:?}"))
            }
            "list" => indexer::list(resource, namespace, text, 1, cursor)
                .map(|page| shown(page.items.into_iter())),
            "by-index" => indexer::by_index(resource, of, text, 0, cursor)
                .map(|page| shown(page.items.into_iter())),
            "index-keys" => indexer::index_keys(resource, of, text, 0, cursor)
                .map(|page| format!("{:?}", page.keys)),
            "index-values" => indexer::index_values(resource, of, 0, cursor)
                .map(|page| format!("{:?}", page.values)),
            "count" => indexer::count(resource, namespace).map(|it| it.to_string()),
            "has-synced" => indexer::has_synced(resource).map(|it| it.to_string()),
            other => panic!("there is no {other}"),
        };
        shown.map_err(|error| format!("{error:?}"))
    }

    fn kube(&self, call: &str) -> Outcome {
        let Self { resource, of, subresource, text, .. } = self;
        let (key, body) = (self.key(), text.as_bytes());
        let patch = |kind| kube::patch(resource, &key, subresource, kind, body);
        let written = match call {
            "create" => kube::create(resource, &key, subresource, body),
            "update" => kube::update(resource, &key, subresource, body),
            "json-patch" => patch(kube::PatchType::JsonPatch),
            "merge" => patch(kube::PatchType::Merge),
            "strategic" => patch(kube::PatchType::Strategic),
            "apply" => patch(kube::PatchType::Apply(true)),
            "apply-unforced" => patch(kube::PatchType::Apply(false)),
            "delete" => kube::delete(resource, &key, None).map(|()| Vec::new()),
            "record-event" => {
                kube::record_event(resource, &key, false, of, text).map(|()| Vec::new())
            }
            other => panic!("there is no {other}"),
        };
        written.map(|json| shown([json].into_iter())).map_err(|error| format!("{error:?}"))
    }

    fn state(&self, call: &str) -> Outcome {
        let Self { of, text, .. } = self;
        match call {
            "set" => state::set(of, Some(text.as_bytes())).map(|()| String::new()),
            "get" => state::get(of).map(|value| shown(value.into_iter())),
            "keys" => state::keys(of).map(|keys| format!("{keys:?}")),
            other => panic!("there is no {other}"),
        }
    }

    fn http(&self) -> Outcome {
        let request = http::Request {
            method: self.of.clone(),
            url: self.text.clone(),
            headers: self.pairs.clone(),
            body: Vec::new(),
            timeout_ms: 0,
        };
        let answer = http::send(&request).map_err(|error| format!("{error:?}"))?;
        Ok(format!("{} {}", answer.status, shown([answer.body].into_iter())))
    }

    fn metrics(&self, call: &str) -> Outcome {
        let Self { of, text, pairs, .. } = self;
        let value = text.parse().unwrap_or(1.0);
        let recorded = match call {
            "counter" => metrics::counter_add(of, pairs, value),
            "gauge" => metrics::gauge_set(of, pairs, value),
            "histogram" => metrics::histogram_observe(of, pairs, value),
            // As many series as the text says.
            "flood" => (0..value as u32).try_for_each(|number| {
                metrics::gauge_set(of, &[("number".to_owned(), number.to_string())], 1.0)
            }),
            // As many histograms, each with as many and as large labels as there may be, which are twice as large once they are escaped.
            "histograms" => (0..value as u32).try_for_each(|number| {
                let label = |at| (format!("l{at:02}{}", "x".repeat(125)), "\\".repeat(256));
                let mut labels: Vec<(String, String)> = (0..16).map(label).collect();
                labels[0].1 = number.to_string();
                metrics::histogram_observe(of, &labels, 0.5)
            }),
            other => panic!("there is no {other}"),
        };
        recorded.map(|()| String::new())
    }
}

/// Everything, one after the other.
fn shown(items: impl Iterator<Item = Vec<u8>>) -> String {
    items.map(|item| String::from_utf8_lossy(&item).into_owned()).collect::<Vec<_>>().join(" ")
}

export_plugin!(Attacker);
