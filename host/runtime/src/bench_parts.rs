//! Single parts of the runtime for this crate's benches, and for its test that counts allocations. They are not public
//! interface and change with the parts.

use crate::account::{Holding, Ledger};
use crate::contract::descriptor::{Descriptor, DescriptorError};
use crate::counters::Counters;
use crate::delivery::mailbox::{Mailbox, Marks, Settled};
use crate::delivery::mailboxes::Hands;
use crate::delivery::plugin_queue::PluginQueue;
use crate::delivery::sieve::SubscriptionSieve;
use crate::delivery::subscription::SubscriptionHandler;
use crate::event::{Change, Event, Reason, SubscriptionId};
use crate::guest::compiler::{CompileError, CompiledPlugin, adopt, compile_here};
use crate::guest::engine::{Engine, EngineError};
use crate::guest::host_functions::HostFunctions;
use crate::guest::instance::Template;
use crate::history::{DeliveryEnd, EndedDelivery, History};
use informant_cache::{
    Cause, Interest, Object, ResourceEventHandler, SharedProjection, Sieve, SievePlaces,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A plugin's queue of events, without the plugin.
#[derive(Debug)]
pub struct Events {
    queue: Mailbox,
    now: Instant,
}

impl Events {
    /// A queue that keeps so many events before it merges.
    pub fn new(mark: usize, now: Instant) -> Self {
        let marks = Marks { events: mark, bytes: usize::MAX };
        Self { queue: Mailbox::new(marks), now }
    }

    /// Pushes an update.
    pub fn push(&mut self, old: &Object, object: &Object) {
        self.queue.push(Event {
            old: Some(old.clone()),
            ..Event::new(SubscriptionId(1), Change::Updated, object.clone(), self.now)
        });
    }

    /// Takes and settles the next event. Returns whether there was one.
    pub fn pop(&mut self) -> bool {
        let popped = self.queue.pop(self.now).is_some();
        if popped {
            self.queue.settle(Settled::Finished, self.now);
        }
        popped
    }

    /// The number of waiting events.
    pub fn depth(&self) -> usize {
        self.queue.load().events
    }
}

/// A plugin's history, without the plugin.
#[derive(Debug)]
pub struct Deliveries {
    history: History,
    now: Instant,
}

impl Deliveries {
    /// A history of so many bytes; 0: no deliveries are kept.
    pub fn new(bytes: usize, now: Instant) -> Self {
        Self { history: History::new(bytes, now), now }
    }

    /// Notes the successful delivery of an update.
    pub fn push(&mut self, object: &Object) {
        self.history.push(&EndedDelivery {
            subscription: SubscriptionId(1),
            change: Change::Updated,
            reason: Reason::Watch,
            gone: None,
            object: object.key().into(),
            resource_version: object.resource_version(),
            attempt: 1,
            waited: Duration::from_micros(900),
            took: Duration::from_micros(20),
            ended: self.now,
            end: DeliveryEnd::Ok,
            error: "",
            wrote: "",
        });
    }
}

/// The subscriptions of one informer that ask about updates together.
#[derive(Default)]
pub struct BenchSieve {
    projection: Arc<SharedProjection>,
    sieve: Arc<SubscriptionSieve>,
    subscriptions: Vec<BenchSubscription>,
    /// By place.
    sifted: Vec<usize>,
    places: SievePlaces,
    all: SievePlaces,
}

impl BenchSieve {
    /// Adds the first subscription of a descriptor. Returns whether it has a place.
    pub fn add(&mut self, descriptor: &[u8]) -> Result<bool, DescriptorError> {
        let mut subscription = BenchSubscription::new(descriptor, &self.projection)?;
        let descriptor = Descriptor::parse(descriptor)?;
        let spec = &descriptor.subscriptions[0];
        let handler = subscription.handler;
        subscription.handler = handler.sifted_by(&self.sieve, &self.projection, spec, true);
        let place = subscription.handler.interest();
        if let Interest::Sifted(place) = &place {
            assert_eq!(place.place, self.sifted.len(), "each place is a new one");
            self.sifted.push(self.subscriptions.len());
            self.all.insert(place.place);
        }
        self.subscriptions.push(subscription);
        Ok(matches!(place, Interest::Sifted(_)))
    }

    /// Lets the sieve decide, and notifies the handlers of the rest of an update.
    pub fn update(&mut self, old: &Object, object: &Object) {
        let cause = Cause { reason: informant_cache::Reason::Watch, received: Instant::now() };
        self.places.set_to(&self.all);
        self.sieve.sift([old, object], cause, &mut self.places);
        for place in self.places.iter() {
            self.subscriptions[self.sifted[place]].update(old, object);
        }
    }

    /// Whether no event waits.
    pub fn has_queued_nothing(&self) -> bool {
        self.subscriptions.iter().all(BenchSubscription::has_queued_nothing)
    }
}

/// The first subscription of a descriptor, without the plugin.
pub struct BenchSubscription {
    handler: SubscriptionHandler,
    queue: Arc<PluginQueue>,
    cause: Cause,
}

impl BenchSubscription {
    /// Its queue holds one event and merges the others into that.
    pub fn new(
        descriptor: &[u8],
        projection: &Arc<SharedProjection>,
    ) -> Result<Self, DescriptorError> {
        let descriptor = Descriptor::parse(descriptor)?;
        let queue = Arc::new(PluginQueue::new(
            Marks { events: 1, bytes: usize::MAX },
            Arc::new(Counters::default()),
        ));
        let spec = &descriptor.subscriptions[0];
        let handler = SubscriptionHandler::new(SubscriptionId(1), spec, queue.clone());
        let handler = handler.reading_with(projection, spec, true);
        // An actor waits for events.
        queue.change(|mailboxes| {
            mailboxes.set_filters_of(1);
            mailboxes.change_initials(|initials| initials.begin(SubscriptionId(1), 0));
        });
        queue.wait_without_actor(0, Hands::waiting(1));
        let cause = Cause { reason: informant_cache::Reason::Watch, received: Instant::now() };
        Ok(Self { handler, queue, cause })
    }

    /// Whether no event waits.
    pub fn has_queued_nothing(&self) -> bool {
        self.queue.look(|mailboxes| mailboxes.load().events == 0)
    }

    /// Notifies the handler of an update.
    pub fn update(&self, old: &Object, object: &Object) {
        self.handler.on_update(old, object, self.cause);
    }
}

/// A compiled plugin file that is not loaded.
pub struct CompiledFile {
    engine: Engine,
    functions: HostFunctions,
    plugin: CompiledPlugin,
}

/// Code that is ready to run, as in a plugin's version.
pub struct LoadedFile {
    _template: Template,
    ledger: Arc<Ledger>,
}

impl CompiledFile {
    /// Checks the file and compiles it, in this process.
    pub fn compile(file: Vec<u8>) -> Result<Self, CompileError> {
        let host = |error: EngineError| CompileError::Host(error.to_string());
        let engine = Engine::new().map_err(host)?;
        let functions = HostFunctions::new(&engine).map_err(host)?;
        let plugin = compile_here(&engine, file)?;
        Ok(Self { engine, functions, plugin })
    }

    /// Loads the code.
    pub fn load(&self) -> Result<LoadedFile, CompileError> {
        let ledger = Arc::<Ledger>::default();
        let compiled = Arc::new(adopt(&self.engine, &self.plugin, u64::MAX)?);
        let _template = Template::new(&self.functions, compiled, (&ledger, u64::MAX))?;
        Ok(LoadedFile { _template, ledger })
    }

    /// Bytes of the compiled code, which are mapped and not allocated.
    pub fn code_bytes(&self) -> u64 {
        self.plugin.content().len() as u64
    }
}

impl LoadedFile {
    /// The bytes of the code in the plugin's account.
    pub fn account(&self) -> u64 {
        self.ledger.held(Holding::Code)
    }
}
