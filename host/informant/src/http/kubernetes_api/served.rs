//! The resources of the cluster that the cache can serve: read from discovery, kept for a minute, and read again for
//! a resource that is missing.

use super::{definition, discovery};
use http::header::ACCEPT;
use informant_apimachinery::{GroupVersionResource, Status, reason};
use informant_apiserver::{Catalogue, ResourceInfo, aside};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Clients keep discovery for longer.
const KEPT_MAX: Duration = Duration::from_secs(60);
/// The least time from one read to the next, whatever is missing or fails.
const AGAIN_MIN: Duration = Duration::from_secs(5);
/// How long a request waits for the API server.
const READ_DEADLINE: Duration = Duration::from_secs(5);

/// Definitions that are read at once. An answer may have 8 MiB.
const DEFINITIONS_MAX: usize = 4;

/// The cluster's resources.
pub(super) struct ServedCatalogue {
    client: kube::Client,
    last: Mutex<Last>,
    /// The one place of a read. A request that ends gives its place to the next.
    reading: Semaphore,
    /// The places of reads of definitions.
    defining: Semaphore,
}

/// The last reads: a synchronous decision on when to read again.
#[derive(Default)]
struct Last {
    catalogue: Option<Arc<Catalogue>>,
    /// Resources whose definitions have been read.
    defined: HashSet<GroupVersionResource>,
    /// When the last read ended.
    read: Option<Instant>,
    /// Why the last read failed, if it did.
    failure: Option<Status>,
}

impl Last {
    /// Whether discovery is to be read before a request for this resource is answered. A known resource is answered
    /// from the last good read, so an API server that hangs delays a request for it once a minute.
    fn is_due(&self, asked: Option<&GroupVersionResource>, now: Instant) -> bool {
        let Some(read) = self.read else { return true };
        let is_there = |catalogue: &Arc<Catalogue>| {
            asked.is_none_or(|resource| catalogue.find(resource).is_some())
        };
        let is_known = self.catalogue.as_ref().is_some_and(is_there);
        let kept_max = if is_known { KEPT_MAX } else { AGAIN_MIN };
        now.saturating_duration_since(read) >= kept_max
    }

    /// The last good read, however old, or why there is none.
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

    /// The resource, if its definition is to be read.
    fn undefined(&self, asked: &GroupVersionResource) -> Option<Arc<ResourceInfo>> {
        let resource = self.catalogue.as_ref()?.find(asked)?;
        let is_unknown =
            resource.custom && !asked.group.is_empty() && !self.defined.contains(asked);
        is_unknown.then(|| resource.clone())
    }

    /// Notes the resource as its definition has it; none: the host may not read the definition, or there is none.
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
        let (reading, defining) = (Semaphore::new(1), Semaphore::new(DEFINITIONS_MAX));
        Self { client, last: Mutex::default(), reading, defining }
    }

    /// All resources, and the asked one with its definition.
    pub(super) async fn catalogue(
        &self,
        asked: Option<&GroupVersionResource>,
    ) -> Result<Arc<Catalogue>, Status> {
        if self.is_due(asked) {
            self.read(asked).await;
        }
        if let Some(asked) = asked {
            self.define(asked).await;
        }
        self.last.lock().newest()
    }

    fn is_due(&self, asked: Option<&GroupVersionResource>) -> bool {
        self.last.lock().is_due(asked, Instant::now())
    }

    /// Reads discovery, unless another request has read it in the meantime.
    async fn read(&self, asked: Option<&GroupVersionResource>) {
        let Ok(_place) = self.reading.acquire().await else { return };
        if self.is_due(asked) {
            let outcome = read(&self.client).await;
            self.last.lock().note(outcome, Instant::now());
        }
    }

    async fn define(&self, asked: &GroupVersionResource) {
        if self.last.lock().undefined(asked).is_none() {
            return;
        }
        let Ok(_place) = self.defining.acquire().await else { return };
        // Another request may have read it in the meantime.
        let Some(resource) = self.last.lock().undefined(asked) else { return };
        let request = http::Request::get(definition::path(&resource));
        let request = request.header(ACCEPT, "application/json").body(Vec::new());
        let Ok(request) = request else { return };
        let asked_for = self.client.request_text(request);
        // Without its definition the resource has the columns name and age, and no fields of its own.
        let resource = match tokio::time::timeout(READ_DEADLINE, asked_for).await {
            Ok(Ok(document)) => aside(move || definition::apply(&resource, &document)).await,
            Ok(Err(_)) | Err(_) => None,
        };
        self.last.lock().define(asked, resource.flatten());
    }
}

async fn read(client: &kube::Client) -> Result<Arc<Catalogue>, Status> {
    let Ok(documents) = tokio::time::timeout(READ_DEADLINE, discovery::documents(client)).await
    else {
        let seconds = READ_DEADLINE.as_secs();
        let message = format!("the API server did not answer discovery within {seconds} s");
        return Err(Status::failure(504, reason::TIMEOUT, message));
    };
    let documents = documents?;
    let made = aside(move || discovery::catalogue(&documents)).await;
    let ended = || Err(Status::service_unavailable("discovery was not read to its end"));
    made.unwrap_or_else(ended).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn gvr(resource: &str) -> GroupVersionResource {
        GroupVersionResource::new("example.com", "v1", resource)
    }

    fn catalogue(resource: &str) -> Arc<Catalogue> {
        let info = ResourceInfo { custom: true, ..ResourceInfo::of_kind(gvr(resource), "Thing") };
        Arc::new(Catalogue::new([Arc::new(info)]))
    }

    /// Whether discovery is read again after that many seconds, for a resource that is there or not.
    #[track_caller]
    fn check(last: &Last, asked: Option<&str>, start: Instant, seconds: u64, expect: bool) {
        let now = start + Duration::from_secs(seconds);
        let is_due = last.is_due(asked.map(gvr).as_ref(), now);
        assert_eq!(is_due, expect, "{asked:?} after {seconds} s");
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
        check(&last, None, start, 4, false);
        check(&last, None, start, 5, true);
        assert_eq!(last.newest().map(drop).map_err(|status| status.code), Err(503));
        last.note(Ok(catalogue("things")), start);
        last.note(Err(Status::service_unavailable("away")), start);
        assert!(last.newest().is_ok());
        // An API server that hangs would delay every request for five seconds.
        check(&last, Some("things"), start, 59, false);
        check(&last, Some("things"), start, 60, true);
        check(&last, Some("others"), start, 5, true);
    }

    /// A client of an API server without resources that keeps the first requests waiting for ever.
    fn client(hanging: usize) -> (kube::Client, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
            let number = counted.fetch_add(1, Ordering::Relaxed);
            async move {
                if number < hanging {
                    std::future::pending::<()>().await;
                }
                let body = kube::client::Body::from(br#"{"items":[]}"#.to_vec());
                Ok::<_, Infallible>(http::Response::new(body))
            }
        });
        (kube::Client::new(service, "default"), asked)
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_ends_before_its_answer_leaves_the_read_to_the_next() {
        // A read is two requests to the API server.
        let (client, asked) = client(2);
        let served = ServedCatalogue::new(client);
        let abandoned = tokio::time::timeout(Duration::from_secs(1), served.catalogue(None)).await;
        assert!(abandoned.is_err(), "the API server hangs");
        tokio::time::sleep(READ_DEADLINE).await;
        assert!(served.catalogue(None).await.is_ok());
        assert_eq!(asked.load(Ordering::Relaxed), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_at_the_same_time_share_a_read() {
        let (client, asked) = client(0);
        let served = ServedCatalogue::new(client);
        let all = futures::future::join_all((0..9).map(|_| served.catalogue(None))).await;
        assert!(all.iter().all(Result::is_ok));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
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
