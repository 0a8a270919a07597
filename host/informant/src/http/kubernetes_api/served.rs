//! What the cluster serves, as far as the cache can: read from its discovery, kept for a minute, and read again where
//! a resource is missing.

use super::{definition, discovery};
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use http::header::ACCEPT;
use informant_apimachinery::{GroupVersionResource, Status, reason};
use informant_apiserver::{Catalogue, ResourceInfo};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Clients keep what they have read for longer.
const KEPT_MAX: Duration = Duration::from_secs(60);
/// Two reads are no closer, whatever is asked for and whatever fails.
const AGAIN_MIN: Duration = Duration::from_secs(5);
/// How long a request waits for the API server.
const READ_DEADLINE: Duration = Duration::from_secs(5);

/// A read under way, for everybody who waits for it.
type Reading = Shared<BoxFuture<'static, Result<Arc<Catalogue>, Status>>>;

/// The cluster's resources.
pub(super) struct ServedCatalogue {
    client: kube::Client,
    state: Mutex<CatalogueState>,
}

#[derive(Default)]
struct CatalogueState {
    last: Last,
    reading: Option<Reading>,
}

/// What is known: it decides, and does nothing.
#[derive(Default)]
struct Last {
    catalogue: Option<Arc<Catalogue>>,
    /// Those whose definitions have been asked for.
    defined: HashSet<GroupVersionResource>,
    /// How the last read ended, and when.
    read: Option<Instant>,
    failure: Option<Status>,
}

impl Last {
    /// What to answer with; none: discovery is to be read.
    fn answer(
        &self,
        asked: Option<&GroupVersionResource>,
        now: Instant,
    ) -> Option<Result<Arc<Catalogue>, Status>> {
        let age = now.saturating_duration_since(self.read?);
        let is_there = |catalogue: &Arc<Catalogue>| {
            asked.is_none_or(|resource| catalogue.find(resource).is_some())
        };
        let catalogue = self.catalogue.as_ref();
        let is_good = self.failure.is_none() && catalogue.is_some_and(is_there);
        let kept_max = if is_good { KEPT_MAX } else { AGAIN_MIN };
        (age < kept_max).then(|| self.newest())
    }

    /// What is known, however old: a cluster that is away has what it had.
    fn newest(&self) -> Result<Arc<Catalogue>, Status> {
        match (&self.catalogue, &self.failure) {
            (Some(catalogue), _) => Ok(catalogue.clone()),
            (None, Some(failure)) => Err(failure.clone()),
            (None, None) => Err(Status::service_unavailable("discovery was not read yet")),
        }
    }

    fn note(&mut self, read: Result<Arc<Catalogue>, Status>, now: Instant) {
        self.read = Some(now);
        match read {
            Ok(catalogue) => {
                self.catalogue = Some(catalogue);
                self.failure = None;
                self.defined.clear();
            }
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// The resource, if its definition is to be asked for.
    fn undefined(&self, asked: &GroupVersionResource) -> Option<Arc<ResourceInfo>> {
        let resource = self.catalogue.as_ref()?.find(asked)?;
        let is_unknown =
            resource.custom && !asked.group.is_empty() && !self.defined.contains(asked);
        is_unknown.then(|| resource.clone())
    }

    /// The resource as its definition has it; none: there is none that may be read.
    fn define(&mut self, gvr: &GroupVersionResource, resource: Option<ResourceInfo>) {
        self.defined.insert(gvr.clone());
        let (Some(resource), Some(catalogue)) = (resource, &self.catalogue) else { return };
        let resource = Arc::new(resource);
        let all = catalogue.resources().iter().map(|one| match one.gvr == resource.gvr {
            true => resource.clone(),
            false => one.clone(),
        });
        self.catalogue = Some(Arc::new(Catalogue::new(all)));
    }
}

impl ServedCatalogue {
    pub(super) fn new(client: kube::Client) -> Self {
        Self { client, state: Mutex::default() }
    }

    /// What is served, and this resource with its definition if it is asked for.
    pub(super) async fn catalogue(
        &self,
        asked: Option<&GroupVersionResource>,
    ) -> Result<Arc<Catalogue>, Status> {
        let known = self.state.lock().last.answer(asked, Instant::now());
        if known.is_none() {
            self.read().await;
        }
        if let Some(asked) = asked {
            self.define(asked).await;
        }
        self.state.lock().last.newest()
    }

    /// Reads discovery, or waits for whoever does.
    async fn read(&self) {
        let reading = {
            let mut state = self.state.lock();
            let read = || read(self.client.clone()).boxed().shared();
            state.reading.get_or_insert_with(read).clone()
        };
        let outcome = reading.clone().await;
        let mut state = self.state.lock();
        // The first to hear of it notes it.
        if state.reading.as_ref().is_some_and(|one| one.ptr_eq(&reading)) {
            state.reading = None;
            state.last.note(outcome, Instant::now());
        }
    }

    async fn define(&self, asked: &GroupVersionResource) {
        let Some(resource) = self.state.lock().last.undefined(asked) else { return };
        let request = http::Request::get(definition::path(&resource));
        let request = request.header(ACCEPT, "application/json").body(Vec::new());
        let Ok(request) = request else { return };
        let asked_for = self.client.request::<Value>(request);
        let found = tokio::time::timeout(READ_DEADLINE, asked_for).await;
        let resource = match found {
            Ok(Ok(definition)) => Some(definition::apply(&resource, &definition)),
            // Without permission it has the columns name and age, and no fields of its own.
            Ok(Err(_)) | Err(_) => None,
        };
        self.state.lock().last.define(asked, resource);
    }
}

async fn read(client: kube::Client) -> Result<Arc<Catalogue>, Status> {
    match tokio::time::timeout(READ_DEADLINE, discovery::read(&client)).await {
        Ok(read) => read.map(Arc::new),
        Err(_) => {
            let seconds = READ_DEADLINE.as_secs();
            let message = format!("the API server did not answer discovery within {seconds} s");
            Err(Status::failure(504, reason::TIMEOUT, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gvr(resource: &str) -> GroupVersionResource {
        GroupVersionResource::new("example.com", "v1", resource)
    }

    fn catalogue(resource: &str) -> Arc<Catalogue> {
        let info = ResourceInfo {
            gvr: gvr(resource),
            kind: "Thing".to_owned(),
            singular: "thing".to_owned(),
            list_kind: "ThingList".to_owned(),
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced: true,
            custom: true,
            verbs: Vec::new(),
            subresources: Vec::new(),
            selectable_fields: Vec::new(),
            printer_columns: Value::Null,
        };
        Arc::new(Catalogue::new([Arc::new(info)]))
    }

    /// Whether discovery is read again after that many seconds, for a resource that is there or not.
    #[track_caller]
    fn check(last: &Last, asked: Option<&str>, start: Instant, seconds: u64, expect: bool) {
        let now = start + Duration::from_secs(seconds);
        let is_read = last.answer(asked.map(gvr).as_ref(), now).is_none();
        assert_eq!(is_read, expect, "{asked:?} after {seconds} s");
    }

    #[test]
    fn discovery_is_kept_for_a_minute_and_read_again_for_what_is_missing() {
        let (mut last, start) = (Last::default(), Instant::now());
        check(&last, None, start, 0, true);
        last.note(Ok(catalogue("things")), start);
        check(&last, None, start, 59, false);
        check(&last, Some("things"), start, 59, false);
        check(&last, Some("things"), start, 60, true);
        check(&last, Some("others"), start, 4, false);
        check(&last, Some("others"), start, 5, true);
    }

    #[test]
    fn what_was_there_is_served_while_the_cluster_is_away() {
        let (mut last, start) = (Last::default(), Instant::now());
        last.note(Err(Status::service_unavailable("away")), start);
        assert_eq!(
            last.answer(None, start).expect("no read").map(drop).map_err(|s| s.code),
            Err(503)
        );
        last.note(Ok(catalogue("things")), start);
        last.note(Err(Status::service_unavailable("away")), start);
        assert!(last.answer(Some(&gvr("things")), start).expect("no read").is_ok());
        check(&last, Some("things"), start, 5, true);
    }

    #[test]
    fn a_definition_is_asked_for_once() {
        let mut last = Last::default();
        last.note(Ok(catalogue("things")), Instant::now());
        let found = last.undefined(&gvr("things")).expect("it is custom");
        let list_kind = "Things".to_owned();
        last.define(&gvr("things"), Some(ResourceInfo { list_kind, ..(*found).clone() }));
        assert!(last.undefined(&gvr("things")).is_none());
        let catalogue = last.newest().expect("it is there");
        assert_eq!(catalogue.find(&gvr("things")).map(|one| &*one.list_kind), Some("Things"));
    }
}
