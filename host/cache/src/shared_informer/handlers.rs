//! How handlers come to an informer: called from a task of their own, pulling, or called in the informer's.
//!
//! Answers to client-go's `AddEventHandler` and its kin. What becomes of them there is the processor's business.

use super::SharedIndexInformer;
use crate::handler_queue::HandlerOptions;
use crate::notifications::Notifications;
use crate::resource_event_handler::ResourceEventHandler;
use crate::scope::Scope;
use crate::shared_processor::{Beginning, Registration, RoomSignal};
use std::sync::Arc;
use std::time::Duration;

impl SharedIndexInformer {
    /// Adds a handler, before or after the start, from anywhere, a handler included. It is told of every object that
    /// is there (`Reason::Initial`), then of every change: no gap, no duplicate. It has a bounded queue and a task of its own, which the
    /// informer joins when it stops; however slow it is, it holds nobody else up. It is told everything again in the informer's
    /// resync period, if that has one. A stopped informer tells nobody anything: such a registration is removed at once.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_event_handler(&self, handler: Arc<dyn ResourceEventHandler>) -> Registration {
        self.add_event_handler_with_options(handler, self.default_handler_options())
    }

    /// As [`SharedIndexInformer::add_event_handler`], and every object is told again (`Reason::Resync`) each
    /// period, which is at least a second. A resync that comes round before the last one was told is left out.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_event_handler_with_resync_period(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        resync_period: Duration,
    ) -> Registration {
        let resync_period = Some(resync_period);
        let options = HandlerOptions { resync_period, ..HandlerOptions::default() };
        self.add_event_handler_with_options(handler, options)
    }

    /// As [`SharedIndexInformer::add_event_handler`], with a choice of replay, resync and queue.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_event_handler_with_options(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
    ) -> Registration {
        self.add_handler_in(None, handler, options)
    }

    /// The same as a queue to pull from, for who wants to await between two notifications.
    pub fn notifications(&self, options: HandlerOptions) -> Notifications {
        self.notifications_in(None, options)
    }

    /// Adds a handler that is called in the informer's own task: no queue and no other task. It must not block and should
    /// only note or enqueue: everybody waits for it.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_inline_handler(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
    ) -> Registration {
        self.add_inline_handler_in(None, handler, options, None)
    }

    /// Puts an inline handler in another's place, with no notification lost between the two: up to one moment `old`
    /// is told, from then on `handler`, which is told of every change at once, for `old` was told what was before it, and besides gets every
    /// object that is there (`Reason::Initial`) as a late handler does, whatever `options.replay` says. So an update or a deletion may come
    /// to it before the object itself does; a paced one ([`HandlerOptions::paced`]) hears of it by
    /// [`ResourceEventHandler::on_ahead`]. For handlers that share a memory of what was told.
    #[must_use = "dropping the registration removes the handler"]
    pub fn replace_inline_handler(
        &self,
        old: Registration,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
    ) -> Registration {
        let options = HandlerOptions { replay: true, ..options };
        self.add_inline_handler_in(None, handler, options, Some(old))
    }

    /// What a paced handler sends when it has room again.
    pub fn room_signal(&self) -> RoomSignal {
        RoomSignal::new(&self.shared.inbox)
    }

    /// Calls `call` in the informer's task, between two notifications: inline handlers have then been told of exactly what
    /// [`indexer`](Self::indexer) shows, so that what `call` does falls into their order. It must not block. Where the informer does
    /// not run yet the call waits for its start; one that has stopped drops it uncalled.
    pub fn between_notifications(&self, call: impl FnOnce() + Send + 'static) {
        self.shared.inbox.call(call);
    }

    pub(crate) fn default_handler_options(&self) -> HandlerOptions {
        let resync_period = self.shared.options.resync_period;
        HandlerOptions { resync_period, ..HandlerOptions::default() }
    }

    pub(crate) fn add_handler_in(
        &self,
        scope: Option<Arc<Scope>>,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
    ) -> Registration {
        self.shared.inbox.add(handler, self.beginning(scope, options, None))
    }

    pub(crate) fn notifications_in(
        &self,
        scope: Option<Arc<Scope>>,
        options: HandlerOptions,
    ) -> Notifications {
        let (queue, registration) =
            self.shared.inbox.add_queue(self.beginning(scope, options, None));
        Notifications::new(queue, registration)
    }

    pub(crate) fn add_inline_handler_in(
        &self,
        scope: Option<Arc<Scope>>,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
        replaces: Option<Registration>,
    ) -> Registration {
        self.shared.inbox.add_inline(handler, self.beginning(scope, options, replaces))
    }

    fn beginning(
        &self,
        scope: Option<Arc<Scope>>,
        options: HandlerOptions,
        replaces: Option<Registration>,
    ) -> Beginning {
        let asked = scope.clone().or_else(|| self.asked.clone());
        Beginning { options, scope, asked, replaces }
    }
}
