//! An API server of which a benchmark says what happens on it.

use futures::StreamExt;
use futures::future::{BoxFuture, FutureExt};
use futures::stream;
use informant_cache::{
    GroupVersionResource, ListEvent, ListOptions, ListStream, ListWatchError, ListerWatcher,
    ListerWatcherSource, Part, WatchEvent, WatchOptions, WatchStream,
};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// One resource: an empty list, then what is fed.
#[derive(Clone)]
pub struct Feed {
    events: Arc<Mutex<Option<mpsc::UnboundedReceiver<Vec<WatchEvent>>>>>,
}

impl Feed {
    /// What is fed, a burst at a time, and who says so to one informer.
    pub fn new() -> (mpsc::UnboundedSender<Vec<WatchEvent>>, Self) {
        let (feed, events) = mpsc::unbounded_channel();
        (feed, Self { events: Arc::new(Mutex::new(Some(events))) })
    }
}

impl ListerWatcherSource for Feed {
    fn lister_watcher(&self, _: &GroupVersionResource, _: &Part) -> Arc<dyn ListerWatcher> {
        Arc::new(self.clone())
    }
}

impl ListerWatcher for Feed {
    fn list(&self, _: ListOptions) -> BoxFuture<'_, Result<ListStream, ListWatchError>> {
        let end = ListEvent::End { resource_version: "1".into(), continue_token: None };
        async { Ok(stream::iter([Ok(end)]).boxed()) }.boxed()
    }

    fn watch(&self, options: WatchOptions) -> BoxFuture<'_, Result<WatchStream, ListWatchError>> {
        async move {
            let none = ListWatchError::BadRequest { message: "no watch-lists".to_owned() };
            if options.send_initial_events {
                return Err(none);
            }
            let events = self.events.lock().expect("nobody panics").take().ok_or(none)?;
            let bursts = stream::unfold(events, async |mut events| {
                let burst = events.recv().await?;
                Some((stream::iter(burst.into_iter().map(Ok)), events))
            });
            Ok(bursts.flatten().boxed())
        }
        .boxed()
    }
}
