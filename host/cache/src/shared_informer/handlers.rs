//! The three kinds of handlers of an informer: called from their own task, pulling, or called in the informer's task.
//!
//! As client-go's `AddEventHandler` and its variants. The processor owns them after that.

use super::SharedIndexInformer;
use crate::handler_queue::HandlerOptions;
use crate::notifications::Notifications;
use crate::resource_event_handler::ResourceEventHandler;
use crate::scope::Scope;
use crate::shared_processor::{Beginning, Registration, RoomSignal};
use std::sync::Arc;
use std::time::Duration;

impl SharedIndexInformer {
    /// Adds a handler, before or after the start, from anywhere, also from a handler. It gets every existing object
    /// (`Reason::Initial`), then every change: no gap, no duplicate. It has a bounded queue and its own task, which
    /// the informer joins when it stops. A slow handler delays no other. It gets every object again in the informer's
    /// resync period, if there is one. A stopped informer makes no notifications: such a registration is removed at
    /// once.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_event_handler(&self, handler: Arc<dyn ResourceEventHandler>) -> Registration {
        self.add_event_handler_with_options(handler, self.default_handler_options())
    }

    /// As [`SharedIndexInformer::add_event_handler`], with every object again (`Reason::Resync`) in each period, which
    /// is at least a second. A resync that is due before the last one was delivered is left out.
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

    /// The same as a queue to pull from, for callers that await between two notifications.
    pub fn notifications(&self, options: HandlerOptions) -> Notifications {
        self.notifications_in(None, options)
    }

    /// Adds a handler that is called in the informer's own task, without a queue or another task. It must not block
    /// and should only note or enqueue: all other handlers wait for it.
    #[must_use = "dropping the registration removes the handler"]
    pub fn add_inline_handler(
        &self,
        handler: Arc<dyn ResourceEventHandler>,
        options: HandlerOptions,
    ) -> Registration {
        self.add_inline_handler_in(None, handler, options, None)
    }

    /// Replaces an inline handler by another, with no lost notification between them. Up to one moment `old` gets the
    /// notifications, and `handler` from then on. `handler` gets every change at once, because `old` got the earlier
    /// ones. It also gets every existing object (`Reason::Initial`) as a late handler does, whatever `options.replay`
    /// is. So an update or a deletion may reach it before the object itself does; a paced one
    /// ([`HandlerOptions::paced`]) gets it by [`ResourceEventHandler::on_ahead`]. This is for handlers that share the
    /// knowledge of delivered objects.
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

    /// The signal that a paced handler sends when it has room again.
    pub fn room_signal(&self) -> RoomSignal {
        RoomSignal::new(&self.shared.inbox)
    }

    /// Calls `call` in the informer's task, between two notifications. At that moment inline handlers have got exactly
    /// the state of [`indexer`](Self::indexer), so the call falls into their order. It must not block. If the informer
    /// does not run yet, the call waits for its start; a stopped informer drops it uncalled.
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
