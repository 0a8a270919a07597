//! The answer, as `GET /why` and `informant why -o json` give it.

use serde::{Deserialize, Serialize};

/// Everything that is known of one object and its plugins.
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
    /// What the cache has.
    pub cache: CachedObject,
    /// By name.
    pub plugins: Vec<PluginWhy>,
}

/// What the cache has of the object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CachedObject {
    /// `present`, `absent`, or `not-cached` where no informer watches the resource.
    pub state: String,
    /// Of an object that is there.
    pub resource_version: Option<String>,
    /// Of an object that is there.
    pub uid: Option<String>,
    /// The state of the resource's informer.
    pub informer: Option<String>,
    /// What went wrong with it.
    pub message: Option<String>,
    /// A name that is there, near to one that is not.
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
    /// Events of the object that wait, or that a call has: the first 50.
    pub waiting: Vec<WaitingWhy>,
    /// Further events of the object that wait.
    pub waiting_more: usize,
    /// Deliveries of the object that the history has, oldest first.
    pub deliveries: Vec<DeliveryWhy>,
    /// The history has no delivery that ended before this; null: it has every delivery since the host started.
    pub history_since: Option<String>,
    /// Dead letters of the object.
    pub dead_letters: Vec<LetterWhy>,
    /// Keys of the workqueue that the object's present state gives.
    pub keys: Vec<KeyWhy>,
}

/// One subscription and the object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionWhy {
    /// The subscription's name.
    pub name: String,
    /// Everything that keeps the object's present state from being delivered, in the order in which it is asked; nothing: it is delivered.
    pub refusals: Vec<UnmetQuestion>,
}

/// One question to which the answer is no.
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
    /// Of the object's state in the event.
    pub resource_version: String,
    /// The number of its next attempt.
    pub attempt: u32,
    /// When its bytes were read.
    pub since: String,
    /// One word; `host/docs/why.md` lists them.
    pub why: String,
    /// Why it waits, in one line.
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
    /// Why then: `initial`, `watch`, `relist`, `resync`, `reload` or `redrive`.
    pub reason: String,
    /// How the object left; of `deleted` alone.
    pub gone: Option<String>,
    /// Of the object's state in the event.
    pub resource_version: String,
    /// 1 for the first delivery.
    pub attempt: u32,
    /// One word; `host/docs/why.md` lists them.
    pub end: String,
    /// The plugin's error.
    pub error: Option<String>,
    /// From the moment at which the event's bytes were read to the call.
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
    /// Of a key that has failed.
    pub attempts: u32,
    /// Why its last attempt failed, as far as that is known.
    pub error: Option<String>,
}

/// A dead letter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LetterWhy {
    /// For `informant dlq`.
    pub id: u64,
    /// The subscription's name.
    pub subscription: String,
    /// Of the object's state in the event.
    pub resource_version: String,
    /// How often it was delivered.
    pub attempts: u32,
    /// Why the last delivery failed.
    pub error: String,
    /// When it was given up.
    pub at: String,
}
