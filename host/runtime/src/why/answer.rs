//! The answer, as `GET /why` and `informant why -o json` give it.

use serde::{Deserialize, Serialize};

/// The known data of one object and its plugins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// For example `v1/pods`.
    pub resource: String,
    /// Empty for an object without one.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// When the answer was made.
    pub at: String,
    /// The cache's data of the object.
    pub cache: CachedObject,
    /// By name.
    pub plugins: Vec<PluginWhy>,
}

/// The cache's data of the object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CachedObject {
    /// `present`, `absent`, `left-out` if it exists and no plugin's selector selects it, or `not-cached` if no informer
    /// watches the resource.
    pub state: String,
    /// For an object that exists.
    pub resource_version: Option<String>,
    /// For an object that exists.
    pub uid: Option<String>,
    /// The state of the resource's informer.
    pub informer: Option<String>,
    /// The informer's problem.
    pub message: Option<String>,
    /// A present name near to the absent one.
    pub nearest: Option<String>,
}

/// One plugin and the object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginWhy {
    /// The plugin's name.
    pub name: String,
    /// As in `/plugins`.
    pub state: String,
    /// One word; `host/docs/why.md` lists them.
    pub answer: String,
    /// The answer in one line.
    pub because: String,
    /// Its subscriptions to the resource.
    pub subscriptions: Vec<SubscriptionWhy>,
    /// Events of the object that wait or are in flight: the first 50.
    pub waiting: Vec<WaitingWhy>,
    /// The number of further waiting events of the object.
    pub waiting_more: usize,
    /// The deliveries of the object in the history, oldest first.
    pub deliveries: Vec<DeliveryWhy>,
    /// The history has no delivery that ended before this time; null: it has every delivery since the host started.
    pub history_since: Option<String>,
    /// Dead letters of the object.
    pub dead_letters: Vec<LetterWhy>,
    /// Keys of the workqueue for the object's present state.
    pub keys: Vec<KeyWhy>,
}

/// One subscription and the object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionWhy {
    /// The subscription's name.
    pub name: String,
    /// All reasons that keep the object's present state from being delivered, in the order of the questions. Empty:
    /// the state is delivered.
    pub refusals: Vec<UnmetQuestion>,
}

/// One question with the answer no.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnmetQuestion {
    /// One word; `host/docs/why.md` lists them.
    pub question: String,
    /// The question with the values on which the answer depends.
    pub text: String,
}

/// An event that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingWhy {
    /// The subscription's name.
    pub subscription: String,
    /// `added`, `updated` or `deleted`.
    pub change: String,
    /// The object's resourceVersion in the event.
    pub resource_version: String,
    /// The number of its next attempt.
    pub attempt: u32,
    /// When its bytes were read.
    pub since: String,
    /// One word; `host/docs/why.md` lists them.
    pub why: String,
    /// The reason in one line.
    pub text: String,
}

/// A delivery that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryWhy {
    /// When it ended.
    pub at: String,
    /// The subscription's name.
    pub subscription: String,
    /// `added`, `updated` or `deleted`.
    pub change: String,
    /// The reason of the event: `initial`, `watch`, `relist`, `resync`, `reload` or `redrive`.
    pub reason: String,
    /// The way in which the object left; only for `deleted`.
    pub gone: Option<String>,
    /// The object's resourceVersion in the event.
    pub resource_version: String,
    /// 1 for the first delivery.
    pub attempt: u32,
    /// One word; `host/docs/why.md` lists them.
    pub end: String,
    /// The plugin's error.
    pub error: Option<String>,
    /// The time from the read of the event's bytes to the call.
    pub waited_seconds: f64,
    /// The time of the call.
    pub seconds: f64,
    /// The call's writes to the cluster.
    pub wrote: Option<String>,
}

/// A key of the workqueue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyWhy {
    /// The key.
    pub key: String,
    /// `waits`, `call`, `failed`, `given-up` or `done`.
    pub state: String,
    /// The attempts of a failed key.
    pub attempts: u32,
    /// The error of its last attempt, if known.
    pub error: Option<String>,
}

/// A dead letter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LetterWhy {
    /// The id for `informant dlq`.
    pub id: u64,
    /// The subscription's name.
    pub subscription: String,
    /// The object's resourceVersion in the event.
    pub resource_version: String,
    /// The number of deliveries.
    pub attempts: u32,
    /// The error of the last delivery.
    pub error: String,
    /// When it was given up.
    pub at: String,
}
