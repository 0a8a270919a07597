//! The source's answers to lists and watches.

use super::selection::Selection;
use super::{FakeControllerSource, Occurrence, Request, Source, SourceState, WatchLists};
use crate::list_watch::{
    Change, ListEvent, ListOptions, ListStream, ListWatchError, Part, WatchEvent, WatchOptions,
    WatchStream,
};
use crate::object::Object;
use futures::{StreamExt, stream};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::time::Instant;

impl FakeControllerSource {
    pub(super) fn open_list(
        &self,
        part: &Part,
        options: ListOptions,
    ) -> Result<ListStream, ListWatchError> {
        let mut source = self.inner.source.lock();
        let selection = source.receive(part, Request::List(options.clone()))?;
        let events = source.page(&selection, &options)?;
        Ok(stream::iter(events.into_iter().map(Ok)).boxed())
    }

    pub(super) fn open_watch(
        &self,
        part: &Part,
        options: &WatchOptions,
    ) -> Result<WatchStream, ListWatchError> {
        let mut source = self.inner.source.lock();
        let request = Request::Watch {
            resource_version: options.resource_version.clone(),
            send_initial_events: options.send_initial_events,
        };
        let selection = source.receive(part, request)?;
        let from: u64 = options.resource_version.parse().unwrap_or(0);
        let (ready, goes_on, next) = if options.send_initial_events {
            let (events, goes_on) = source.initial_events(&selection)?;
            (events.into(), goes_on, source.history.len())
        } else {
            if from < source.forgotten {
                let message = format!("too old resource version: {from} ({})", source.forgotten);
                return Err(ListWatchError::Expired { message });
            }
            let next = source.history.partition_point(|(version, _)| *version <= from);
            (VecDeque::new(), true, next)
        };
        source.opened += 1;
        let (inner, epoch, number) = (self.inner.clone(), source.epoch, source.opened);
        let place = WatchPlace { inner, selection, ready, next, from, epoch, number, goes_on };
        Ok(stream::try_unfold(place, WatchPlace::next).boxed())
    }
}

fn too_large_resource_version() -> ListWatchError {
    let message = "Too large resource version".to_owned();
    ListWatchError::TooLargeResourceVersion { message }
}

impl Source {
    fn page(
        &self,
        selection: &Selection,
        options: &ListOptions,
    ) -> Result<Vec<ListEvent>, ListWatchError> {
        let asked = options.not_older_than.as_deref().and_then(|version| version.parse().ok());
        if asked.is_some_and(|asked: u64| asked > self.resource_version) {
            return Err(too_large_resource_version());
        }
        let skip: usize = options.continue_token.as_deref().map_or(0, |t| t.parse().unwrap_or(0));
        let limit = if options.limit == 0 { usize::MAX } else { options.limit as usize };
        let now = Instant::now().into_std();
        let mut rest = self.objects.values().filter(|o| selection.matches(o)).skip(skip);
        let listed = rest.by_ref().take(limit);
        let mut events: Vec<_> =
            listed.map(|object| ListEvent::Object(object.clone(), now)).collect();
        let shown = skip + events.len();
        events.push(ListEvent::End {
            resource_version: self.resource_version.to_string().into(),
            continue_token: rest.next().map(|_| shown.to_string().into()),
        });
        Ok(events)
    }

    /// The initial events of a watch-list, and whether the stream then goes on.
    fn initial_events(
        &self,
        selection: &Selection,
    ) -> Result<(Vec<WatchEvent>, bool), ListWatchError> {
        let now = Instant::now().into_std();
        let added = |object: &Object| WatchEvent::Changed(Change::Added, object.clone(), now);
        let selected = self.objects.values().filter(|object| selection.matches(object));
        let mut events: Vec<_> = selected.map(added).collect();
        match self.watch_lists {
            WatchLists::Served => events.push(self.bookmark_event(true)),
            WatchLists::FalseBookmark => events.push(self.bookmark_event(false)),
            WatchLists::WithoutBookmark => {}
            WatchLists::EndedEarly => return Ok((events, false)),
            WatchLists::Refused => {
                let message = "sendInitialEvents is forbidden for watch".to_owned();
                return Err(ListWatchError::BadRequest { message });
            }
        }
        Ok((events, true))
    }

    fn bookmark_event(&self, initial_events_end: bool) -> WatchEvent {
        let resource_version = self.resource_version.to_string().into();
        WatchEvent::Bookmark { resource_version, initial_events_end }
    }
}

/// A watch's place in the history.
struct WatchPlace {
    inner: Arc<SourceState>,
    selection: Selection,
    ready: VecDeque<WatchEvent>,
    next: usize,
    /// Older changes are not sent (apiserver's `cacheWatcher.process`), not even after the server was set back.
    from: u64,
    epoch: u64,
    number: u64,
    goes_on: bool,
}

impl WatchPlace {
    async fn next(mut self) -> Result<Option<(WatchEvent, Self)>, ListWatchError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some((event, self)));
            }
            if !self.goes_on {
                return Ok(None);
            }
            let inner = self.inner.clone();
            let changed = inner.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            if self.look()? {
                return Ok(None);
            }
            if self.ready.is_empty() {
                changed.await;
            }
        }
    }

    /// Takes new changes; returns whether the watch has ended.
    fn look(&mut self) -> Result<bool, ListWatchError> {
        let source = self.inner.source.lock();
        if self.number <= source.stalled {
            return Ok(false);
        }
        if source.epoch != self.epoch {
            return source.end.clone().map_or(Ok(true), Err);
        }
        let now = Instant::now().into_std();
        let new = source.history.get(self.next..).unwrap_or_default();
        self.next += new.len();
        let selection = &self.selection;
        let from = self.from;
        let new = new.iter().filter(|(version, occurrence)| {
            *version > from || (*version == from && matches!(occurrence, Occurrence::Bookmark(_)))
        });
        self.ready.extend(new.filter_map(|(version, occurrence)| match occurrence {
            Occurrence::Dropped => None,
            Occurrence::Bookmark(initial_events_end) => Some(WatchEvent::Bookmark {
                resource_version: version.to_string().into(),
                initial_events_end: *initial_events_end,
            }),
            Occurrence::Changed(change, new, old) => {
                selection.event(*change, new, old.as_ref(), now)
            }
        }));
        Ok(false)
    }
}

#[cfg(test)]
mod tests;
