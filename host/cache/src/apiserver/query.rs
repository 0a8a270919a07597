//! The query of a list and of a watch, and the requested form of the objects.

use super::Collection;
use crate::list_watch::{ListOptions, QueryParameters, WatchOptions};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::borrow::Cow;

/// Parameters in the order in which they are sent.
pub(super) type Query<'a> = Vec<(&'a str, Cow<'a, str>)>;

pub(super) fn uri(path: &str, query: &Query<'_>) -> String {
    let pair = |(name, value): &(&str, Cow<'_, str>)| {
        format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))
    };
    format!("{path}?{}", query.iter().map(pair).collect::<Vec<_>>().join("&"))
}

/// The `Accept` header of a part's list or watch.
pub(super) fn accept(metadata_only: bool, list: bool) -> &'static str {
    match (metadata_only, list) {
        (false, _) => "application/json",
        (true, true) => {
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
        }
        (true, false) => {
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
        }
    }
}

impl Collection {
    pub(super) fn list_query<'a>(&'a self, options: &'a ListOptions) -> Query<'a> {
        let mut query = Query::new();
        if options.limit > 0 {
            query.push(("limit", options.limit.to_string().into()));
        }
        match (&options.continue_token, &options.not_older_than) {
            (Some(token), _) => query.push(("continue", Cow::Borrowed(&**token))),
            (None, Some(resource_version)) => {
                query.push(("resourceVersion", Cow::Borrowed(&**resource_version)));
                query.push(("resourceVersionMatch", "NotOlderThan".into()));
            }
            (None, None) => {}
        }
        self.complete(query, &options.parameters)
    }

    pub(super) fn watch_query<'a>(&'a self, options: &'a WatchOptions) -> Query<'a> {
        let mut query: Query<'_> = vec![
            ("watch", "true".into()),
            ("allowWatchBookmarks", "true".into()),
            ("timeoutSeconds", options.timeout.as_secs().max(1).to_string().into()),
            ("resourceVersion", Cow::Borrowed(&*options.resource_version)),
        ];
        if options.send_initial_events {
            query.push(("sendInitialEvents", "true".into()));
            query.push(("resourceVersionMatch", "NotOlderThan".into()));
        }
        self.complete(query, &options.parameters)
    }

    /// The parameters that all lists, pages and watches have: a continue token does not carry the selectors.
    fn complete<'a>(&'a self, mut query: Query<'a>, parameters: &'a QueryParameters) -> Query<'a> {
        let part = &self.part;
        let selectors =
            [("labelSelector", &part.label_selector), ("fieldSelector", &part.field_selector)];
        let selectors = selectors.into_iter().filter(|(_, selector)| !selector.is_empty());
        query.extend(selectors.map(|(name, selector)| (name, Cow::Borrowed(selector.as_str()))));
        query.extend(parameters.iter().map(|(name, value)| (&**name, Cow::Borrowed(&**value))));
        query
    }
}
