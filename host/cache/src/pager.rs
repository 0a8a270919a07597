//! Lists a resource once, in pages, without an informer. Answers to client-go's `tools/pager`.
//!
//! It keeps nothing and watches nothing. An informer has pages of its own.

use crate::list_watch::{
    ListEvent, ListOptions, ListStream, ListWatchError, ListerWatcher, PageTrail,
};
use crate::object::Object;
use futures::stream::{self, BoxStream, StreamExt};
use std::sync::Arc;

/// client-go's `defaultPageSize`.
const PAGE_SIZE: u32 = 500;

/// Lists a resource in pages of 500 objects, from any [`ListerWatcher`]. It has no time limit of its own:
/// `tokio::time::timeout` around it sets one.
///
/// ```
/// use informant_cache::testing::FakeControllerSource;
/// use informant_cache::{ListPager, ListerWatcherSource, Part, TypedResource};
/// use k8s_openapi::api::core::v1::Pod;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A cluster: `ApiServer::new(client)`. Here, a fake one with a pod.
/// let source = FakeControllerSource::default();
/// source.add(r#"{"metadata":{"namespace":"default","name":"web"}}"#);
///
/// let pager = ListPager::new(source.lister_watcher(&Pod::resource(), &Part::namespace("default")));
/// for object in pager.list().await?.objects {
///     let pod: Pod = serde_json::from_slice(&object.json())?;
///     println!("{:?}", pod.metadata.name);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ListPager {
    source: Arc<dyn ListerWatcher>,
    options: ListOptions,
}

/// The objects of a complete list.
#[derive(Clone, Debug)]
pub struct PagedList {
    /// In the order of the server.
    pub objects: Vec<Object>,
    /// The list's. A watch may begin here.
    pub resource_version: Box<str>,
}

impl ListPager {
    /// Lists with pages of 500 objects and a consistent read.
    pub fn new(source: Arc<dyn ListerWatcher>) -> Self {
        Self::with_options(source, ListOptions { limit: PAGE_SIZE, ..ListOptions::default() })
    }

    /// Lists with these options; a limit of 0 asks for everything in one page.
    pub fn with_options(source: Arc<dyn ListerWatcher>, options: ListOptions) -> Self {
        Self { source, options }
    }

    /// All objects at one resourceVersion. If a continue token expires after the first page, everything is listed
    /// again, in one page (client-go's `FullListIfExpired`). An object that cannot be read is an error.
    pub async fn list(&self) -> Result<PagedList, ListWatchError> {
        let mut pages = self.pages(self.options.clone());
        match pages.collect().await {
            Err(ListWatchError::Expired { .. }) if pages.is_continued => {
                self.pages(ListOptions { limit: 0, ..self.options.clone() }).collect().await
            }
            listed => listed,
        }
    }

    /// The objects as they come, with one page in memory at a time; nothing is asked for ahead. The stream ends with
    /// the first error. That includes an expired continue token, because the stream has handed out the objects of
    /// the first pages.
    pub fn each_list_item(&self) -> BoxStream<'static, Result<Object, ListWatchError>> {
        let pages = self.pages(self.options.clone());
        let next = async |mut pages: Pages| Ok(pages.next().await?.map(|object| (object, pages)));
        stream::try_unfold(pages, next).boxed()
    }

    fn pages(&self, options: ListOptions) -> Pages {
        let next = Some(options.clone());
        let (source, trail) = (self.source.clone(), PageTrail::default());
        Pages {
            source,
            options,
            next,
            page: None,
            resource_version: None,
            trail,
            is_continued: false,
        }
    }
}

/// The place in a list.
struct Pages {
    source: Arc<dyn ListerWatcher>,
    options: ListOptions,
    /// The next page to ask for.
    next: Option<ListOptions>,
    page: Option<ListStream>,
    /// The first page's.
    resource_version: Option<Box<str>>,
    trail: PageTrail,
    /// Whether a page after the first one was asked for.
    is_continued: bool,
}

impl Pages {
    async fn next(&mut self) -> Result<Option<Object>, ListWatchError> {
        loop {
            let Some(page) = &mut self.page else {
                let Some(options) = self.next.take() else { return Ok(None) };
                self.is_continued = options.continue_token.is_some();
                self.page = Some(self.source.list(options).await?);
                continue;
            };
            let Some(event) = page.next().await else {
                let message = "the list ended within a page".to_owned();
                return Err(ListWatchError::Incomplete { message });
            };
            match event? {
                ListEvent::Object(object, _) => return Ok(Some(object)),
                ListEvent::Malformed(error) => {
                    return Err(ListWatchError::unreadable(&error.to_string()));
                }
                ListEvent::End { resource_version, continue_token } => {
                    self.page = None;
                    self.resource_version.get_or_insert(resource_version);
                    self.next = continue_token.map(|token| self.page_at(token)).transpose()?;
                }
            }
        }
    }

    fn page_at(&mut self, token: Box<str>) -> Result<ListOptions, ListWatchError> {
        if self.trail.leads_back(&token) {
            let message = "the list's pages lead back to one of them".to_owned();
            return Err(ListWatchError::Unreadable { message });
        }
        // A server refuses a resourceVersion beside a token.
        let (not_older_than, continue_token) = (None, Some(token));
        Ok(ListOptions { not_older_than, continue_token, ..self.options.clone() })
    }

    async fn collect(&mut self) -> Result<PagedList, ListWatchError> {
        let mut objects = Vec::new();
        while let Some(object) = self.next().await? {
            objects.push(object);
        }
        let resource_version = self.resource_version.take().unwrap_or_default();
        Ok(PagedList { objects, resource_version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list_watch::{WatchOptions, WatchStream};
    use crate::testing::{FakeControllerSource, Request};
    use futures::TryStreamExt;
    use futures::future::BoxFuture;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A source with so many objects. `0001`, `0002` and so on are their names.
    fn source(objects: usize) -> FakeControllerSource {
        let source = FakeControllerSource::default();
        for number in 1..=objects {
            source.add(&format!(r#"{{"metadata":{{"name":"{number:04}"}}}}"#));
        }
        source
    }

    fn pager(source: &FakeControllerSource, limit: u32) -> ListPager {
        let not_older_than = Some("0".into());
        let options = ListOptions { limit, not_older_than, ..ListOptions::default() };
        ListPager::with_options(Arc::new(source.clone()), options)
    }

    /// The requests, each as its limit, its resourceVersion and its continue token.
    fn requests(source: &FakeControllerSource) -> String {
        let shown = |request: &Request| match request {
            Request::Watch { .. } => "watch".to_owned(),
            Request::List(ListOptions { limit, not_older_than, continue_token, .. }) => format!(
                "{limit}@{}+{}",
                not_older_than.as_deref().unwrap_or_default(),
                continue_token.as_deref().unwrap_or_default()
            ),
        };
        source.requests().iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    /// The cases of client-go's `TestListPager_List` and `TestListPager_EachListItem`.
    async fn check(objects: usize, expect: &str) {
        let whole = source(objects);
        let list = pager(&whole, 10).list().await.expect("a list");
        assert_eq!(list.objects.len(), objects);
        assert_eq!(&*list.resource_version, objects.to_string());
        assert_eq!(requests(&whole), expect, "{objects} objects");
        let streamed = source(objects);
        let items: Vec<_> = pager(&streamed, 10).each_list_item().try_collect().await.expect("all");
        let names =
            |objects: &[Object]| objects.iter().map(|o| o.key().clone()).collect::<Vec<_>>();
        assert_eq!(names(&items), names(&list.objects));
        assert_eq!(requests(&streamed), expect, "{objects} objects");
    }

    #[tokio::test]
    async fn pages_follow_each_other_and_only_the_first_has_the_resource_version() {
        check(0, "10@0+").await;
        check(9, "10@0+").await;
        check(10, "10@0+").await;
        check(11, "10@0+ 10@+10").await;
        check(21, "10@0+ 10@+10 10@+20").await;
    }

    /// Fails the request after so many others.
    struct FailsAfter {
        source: FakeControllerSource,
        requests: AtomicUsize,
        error: ListWatchError,
    }

    impl ListerWatcher for FailsAfter {
        fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
            if self.requests.fetch_sub(1, Ordering::Relaxed) == 0 {
                self.source.refuse_next(self.error.clone());
            }
            self.source.list(options)
        }

        fn watch(
            &self,
            options: WatchOptions,
        ) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
            self.source.watch(options)
        }
    }

    /// The outcome of a list and of a stream, each with its requests.
    async fn check_failing(after: usize, error: &ListWatchError, list: &str, stream: &str) {
        let failing = || {
            let (source, requests) = (source(21), AtomicUsize::new(after));
            let failing = FailsAfter { source: source.clone(), requests, error: error.clone() };
            let options = pager(&source, 10).options;
            (source, ListPager::with_options(Arc::new(failing), options))
        };
        let (source, pager) = failing();
        let outcome = match pager.list().await {
            Ok(listed) => format!("{} objects", listed.objects.len()),
            Err(found) => found.to_string(),
        };
        assert_eq!(format!("{outcome}: {}", requests(&source)), list);
        let (source, pager) = failing();
        let (mut items, mut outcome) = (pager.each_list_item(), String::new());
        let mut objects = 0;
        while let Some(item) = items.next().await {
            match item {
                Ok(_) => objects += 1,
                Err(found) => outcome.push_str(&found.to_string()),
            }
        }
        assert_eq!(format!("{objects} objects, {outcome}: {}", requests(&source)), stream);
    }

    /// client-go lists everything again only where a later page expires, and only where nothing was handed out.
    #[tokio::test]
    async fn a_list_whose_token_expires_is_made_again_in_one_page() {
        let expired = ListWatchError::Expired { message: "token".to_owned() };
        let text = "resource version is too old: token";
        check_failing(
            1,
            &expired,
            "21 objects: 10@0+ 10@+10 0@0+",
            &format!("10 objects, {text}: 10@0+ 10@+10"),
        )
        .await;
        check_failing(
            2,
            &expired,
            "21 objects: 10@0+ 10@+10 10@+20 0@0+",
            &format!("20 objects, {text}: 10@0+ 10@+10 10@+20"),
        )
        .await;
        let first = (format!("{text}: 10@0+"), format!("0 objects, {text}: 10@0+"));
        check_failing(0, &expired, &first.0, &first.1).await;
    }

    /// Its pages lead to each other.
    struct Endless;

    impl ListerWatcher for Endless {
        fn list(&self, options: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
            let next = if options.continue_token.as_deref() == Some("a") { "b" } else { "a" };
            let (resource_version, continue_token) = ("1".into(), Some(next.into()));
            let end = ListEvent::End { resource_version, continue_token };
            Box::pin(std::future::ready(Ok(stream::iter([Ok(end)]).boxed())))
        }

        fn watch(&self, _: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
            unreachable!("a pager watches nothing")
        }
    }

    #[tokio::test]
    async fn pages_that_lead_back_are_an_error() {
        let found = ListPager::new(Arc::new(Endless)).list().await.expect_err("it has no end");
        assert!(found.to_string().contains("lead back"), "{found}");
    }

    #[tokio::test]
    async fn any_other_failure_ends_a_list() {
        check_failing(
            1,
            &ListWatchError::transient("busy"),
            "busy: 10@0+ 10@+10",
            "10 objects, busy: 10@0+ 10@+10",
        )
        .await;
    }
}
