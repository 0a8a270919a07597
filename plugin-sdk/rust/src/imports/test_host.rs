//! The host of a test, as the imports see it: a cache, a log, state, keys, and the answers that the test has set. It
//! belongs to the test's thread. [`testing`](crate::testing) is its interface for the test.

mod cache;
pub(crate) mod functions;
mod keys;
mod requests;
mod selector;
mod values;
mod writes;

pub(crate) use cache::{key_of, text};
pub use requests::TestRequest;
pub use writes::TestWrite;

use crate::bindings::informant::plugin::log::Level;
use cache::Cache;
use keys::Keys;
use requests::Requests;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use values::Values;
use writes::Writes;

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// The source of the imports' answers.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) cache: Cache,
    pub(crate) log: Vec<Line>,
    pub(crate) values: Values,
    pub(crate) keys: Keys,
    pub(crate) metrics: BTreeMap<Metric, f64>,
    pub(crate) writes: Writes,
    pub(crate) requests: Requests,
    /// New and old object of the present event, for `event-data`.
    pub(crate) event: (Option<Value>, Option<Value>),
}

/// A name and sorted labels.
type Metric = (String, Vec<(String, String)>);

impl State {
    fn metric(&mut self, name: &str, labels: &[(String, String)]) -> &mut f64 {
        let mut labels = labels.to_vec();
        labels.sort();
        self.metrics.entry((name.to_owned(), labels)).or_default()
    }
}

pub(crate) fn with<R>(use_state: impl FnOnce(&mut State) -> R) -> R {
    STATE.with_borrow_mut(use_state)
}

/// One line that the plugin logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The level of the line.
    pub level: Level,
    /// Its text.
    pub message: String,
    /// Its fields, in the plugin's order.
    pub fields: Vec<(String, String)>,
}
