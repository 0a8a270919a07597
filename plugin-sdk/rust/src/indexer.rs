//! The host's cache. Reads never block and never reach the API server. They see at least the state of the present
//! event. A plugin sees the resources of its subscriptions and of its descriptor's `reads`; for other resources, the
//! answer is [`Error::NotGranted`].

use crate::ObjectKey;
use crate::bindings::informant::plugin::indexer as contract;
use crate::imports::indexer as host;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

/// Why the cache did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No subscription and no `read` of this plugin covers the resource, or the host's operator did not grant it.
    NotGranted(String),
    /// The cluster has no such resource.
    UnknownResource(String),
    /// The descriptor declares no such index.
    UnknownIndex(String),
    /// The first list is not complete: an absent object may exist.
    NotSynced(String),
    /// The next page was requested too late. Begin again.
    Expired,
    /// The request is invalid, such as a selector that cannot be parsed.
    Invalid(String),
    /// The object exists, but does not fit the requested type.
    Decode(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted(what) => write!(f, "not granted: {what}"),
            Self::UnknownResource(what) => write!(f, "unknown resource: {what}"),
            Self::UnknownIndex(what) => write!(f, "unknown index: {what}"),
            Self::NotSynced(what) => write!(f, "not synced yet: {what}"),
            Self::Expired => f.write_str("the list's cursor is too old; list again"),
            Self::Invalid(what) => write!(f, "invalid question: {what}"),
            Self::Decode(what) => write!(f, "a cached object does not fit its type: {what}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<contract::Error> for Error {
    fn from(error: contract::Error) -> Self {
        match error {
            contract::Error::NotGranted(what) => Self::NotGranted(what),
            contract::Error::UnknownResource(what) => Self::UnknownResource(what),
            contract::Error::UnknownIndex(what) => Self::UnknownIndex(what),
            contract::Error::NotSynced(what) => Self::NotSynced(what),
            contract::Error::Expired => Self::Expired,
            contract::Error::Invalid(what) => Self::Invalid(what),
        }
    }
}

/// One object. `None` if it does not exist.
pub fn get<T: DeserializeOwned>(resource: &str, key: &ObjectKey) -> Result<Option<T>, Error> {
    get_json(resource, key)?.map(|json| decode(&json)).transpose()
}

/// One object as JSON.
pub fn get_json(resource: &str, key: &ObjectKey) -> Result<Option<Vec<u8>>, Error> {
    Ok(host::get(resource, key)?)
}

/// The JSON text of single values of one object, one for each pointer. For large objects this is cheaper than [`get`].
pub fn fields(
    resource: &str,
    key: &ObjectKey,
    pointers: &[&str],
) -> Result<Option<Vec<Option<String>>>, Error> {
    let pointers: Vec<_> = pointers.iter().map(|&p| p.to_owned()).collect();
    Ok(host::fields(resource, key, &pointers)?)
}

/// All objects of a resource. [`List::in_namespace`] and [`List::labels`] restrict them.
pub fn list<T>(resource: &str) -> List<T> {
    List {
        pages: Pages::new(resource),
        question: Question::List { namespace: None, labels: String::new() },
        decoded: PhantomData,
    }
}

/// The objects that an index of the descriptor has for a value.
pub fn by_index<T>(resource: &str, index: &str, value: &str) -> List<T> {
    List {
        pages: Pages::new(resource),
        question: Question::ByIndex { index: index.to_owned(), value: value.to_owned() },
        decoded: PhantomData,
    }
}

/// The keys of the objects of [`by_index`].
pub fn index_keys<'a>(
    resource: &'a str,
    index: &'a str,
    value: &'a str,
) -> impl Iterator<Item = Result<ObjectKey, Error>> + 'a {
    let mut pages = Pages::new(resource);
    std::iter::from_fn(move || {
        pages.next(|resource, limit, cursor| {
            host::index_keys(resource, index, value, limit, cursor)
                .map(|page| (page.keys, page.next))
        })
    })
}

/// Every value for which an index has an object.
pub fn index_values<'a>(
    resource: &'a str,
    index: &'a str,
) -> impl Iterator<Item = Result<String, Error>> + 'a {
    let mut pages = Pages::new(resource);
    std::iter::from_fn(move || {
        pages.next(|resource, limit, cursor| {
            host::index_values(resource, index, limit, cursor).map(|page| (page.values, page.next))
        })
    })
}

/// The number of objects, in one namespace or in all.
pub fn count(resource: &str, namespace: Option<&str>) -> Result<u64, Error> {
    Ok(host::count(resource, namespace)?)
}

/// Whether the first list of the resource is complete.
pub fn has_synced(resource: &str) -> Result<bool, Error> {
    Ok(host::has_synced(resource)?)
}

/// Objects one after the other, fetched page by page. An object that exists all the time comes exactly once. After an
/// error the iteration ends.
#[must_use = "nothing is asked until it is iterated over"]
pub struct List<T> {
    pages: Pages<Vec<u8>>,
    question: Question,
    decoded: PhantomData<fn() -> T>,
}

enum Question {
    List { namespace: Option<String>, labels: String },
    ByIndex { index: String, value: String },
}

impl<T> List<T> {
    /// Restricts the list to one namespace. Has no effect for [`by_index`].
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        if let Question::List { namespace: wanted, .. } = &mut self.question {
            *wanted = Some(namespace.into());
        }
        self
    }

    /// Restricts the list to objects with these labels, in kubectl's notation. Has no effect for [`by_index`].
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        if let Question::List { labels, .. } = &mut self.question {
            *labels = selector.into();
        }
        self
    }

    /// The number of objects on a page, instead of the host's default.
    pub fn page_size(mut self, objects: u32) -> Self {
        self.pages.limit = objects;
        self
    }
}

impl<T: DeserializeOwned> Iterator for List<T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let question = &self.question;
        let item = self.pages.next(|resource, limit, cursor| {
            let page = match question {
                Question::List { namespace, labels } => {
                    host::list(resource, namespace.as_deref(), labels, limit, cursor)
                }
                Question::ByIndex { index, value } => {
                    host::by_index(resource, index, value, limit, cursor)
                }
            };
            page.map(|page| (page.items, page.next))
        })?;
        let decoded = item.and_then(|json| decode(&json));
        if decoded.is_err() {
            self.pages.end();
        }
        Some(decoded)
    }
}

/// The position of an iteration over pages.
struct Pages<Item> {
    resource: String,
    limit: u32,
    waiting: VecDeque<Item>,
    position: Position,
}

enum Position {
    Begin,
    After(String),
    End,
}

impl<Item> Pages<Item> {
    fn new(resource: &str) -> Self {
        Self {
            resource: resource.to_owned(),
            limit: 0,
            waiting: VecDeque::new(),
            position: Position::Begin,
        }
    }

    fn end(&mut self) {
        self.waiting.clear();
        self.position = Position::End;
    }

    /// Returns the next item. Requests pages until one has an item, because a page may be empty and not the last.
    fn next(
        &mut self,
        ask: impl Fn(&str, u32, Option<&str>) -> Result<(Vec<Item>, Option<String>), contract::Error>,
    ) -> Option<Result<Item, Error>> {
        loop {
            if let Some(item) = self.waiting.pop_front() {
                return Some(Ok(item));
            }
            let cursor = match &self.position {
                Position::Begin => None,
                Position::After(cursor) => Some(cursor.as_str()),
                Position::End => return None,
            };
            match ask(&self.resource, self.limit, cursor) {
                Ok((items, next)) => {
                    self.waiting = items.into();
                    self.position = next.map_or(Position::End, Position::After);
                }
                Err(error) => {
                    self.end();
                    return Some(Err(error.into()));
                }
            }
        }
    }
}

fn decode<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(json).map_err(|e| Error::Decode(e.to_string()))
}
