//! One run. Everything in it follows from its seed.

use crate::around::Around;
use crate::clients::Clients;
use crate::faults::{Fault, FaultCounts, Faults, WITHOUT_WATCHES};
use crate::journal::{Journal, Violation};
use crate::server::{Server, Temper, Wire};
use crate::writes;
use informant_apimachinery::GroupVersionResource;
use informant_cache::{ApiServer, FactoryOptions, SharedInformerFactory};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The time from the last fault until the run must be at rest. It is the sum of the longest outage of a server (120
/// s), two requests on a connection that died silently, and the longest backoff (60 s) between them. The longest watch
/// is 615 s.
const AT_REST_AFTER: Duration = Duration::from_secs(1420);
/// The time after which a client leaves a connection that died silently: the longest watch.
const DEAD_CONNECTION_MAX: Duration = Duration::from_secs(615);
/// With lists but no watches, the time until a change is visible. It is 30 s between two lists, the longest pause (60
/// s) twice, before the last watch and before the list, and a late answer.
const SEEN_WITHOUT_WATCHES_AFTER: Duration = Duration::from_secs(180);
/// The largest number of users of informers at once.
const TENANTS_MAX: usize = 5;

/// The options of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The source of all choices.
    pub seed: u64,
    /// Whether the trace goes to standard output during the run.
    pub print: bool,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The run's seed.
    pub seed: u64,
    /// The hash of the trace. Equal runs have equal hashes.
    pub hash: u64,
    /// The counts of the faults in the run.
    pub faults: FaultCounts,
    /// The first invariant that did not hold.
    pub violation: Option<Violation>,
}

/// Runs one seed.
pub fn run(options: Options) -> Outcome {
    let Options { seed, .. } = options;
    catch_unwind(AssertUnwindSafe(|| run_inside(options))).unwrap_or_else(|panic| {
        let found = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let violation = Violation {
            invariant: "nothing panics but what is told to".to_owned(),
            found: found.unwrap_or_else(|| "a panic without a text".to_owned()),
            tail: Vec::new(),
        };
        let faults = FaultCounts::default();
        Outcome { seed, hash: 0, faults, violation: Some(violation) }
    })
}

fn run_inside(options: Options) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    runtime.block_on(simulate(options))
}

async fn simulate(options: Options) -> Outcome {
    let Options { seed, print } = options;
    let journal = Journal::new(print);
    let faults = Faults::new(journal.clone());
    let mut run = Run::new(seed, journal.clone(), faults.clone());
    let steps = run.random.usize(40..160);
    for _ in 0..steps {
        run.step().await;
        if journal.is_broken() {
            break;
        }
    }
    if !journal.is_broken() {
        run.rest().await;
    }
    if !journal.is_broken() {
        run.end().await;
    }
    let (hash, violation) = (journal.hash(), journal.violation());
    Outcome { seed, hash, faults: faults.counts(), violation }
}

struct Run {
    random: fastrand::Rng,
    journal: Journal,
    faults: Faults,
    server: Server,
    clients: Clients,
    resources: Vec<GroupVersionResource>,
    /// The number of different names of objects.
    names: usize,
}

impl Run {
    fn new(seed: u64, journal: Journal, faults: Faults) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let resources = writes::resources();
        let mut temper = temper(&mut random);
        // There are few names, so that writes often meet the same object. Sometimes there are more than one step of a
        // replay delivers.
        let crowded = random.u32(..32) == 0;
        let (names, filled) = if crowded { (120, 330) } else { (6, 8) };
        if crowded {
            temper.page_max *= 20;
        }
        let views = random.bool();
        // Whole objects then come in as single pages, while the watch of metadata shows changes.
        let mostly_metadata = views && random.bool();
        if mostly_metadata {
            temper.page_max = random.usize(1..3);
        }
        journal.step(format_args!("seed {seed}, {temper:?}"));
        let lists_max = random.usize(1..4);
        let (noted, met) = (journal.clone(), faults.clone());
        let server = Server::new(random.fork(), temper, &resources, lists_max, noted, met);
        writes::define_widgets(&server, random.u32(..4) > 0);
        let configmaps = &resources[0];
        server.write(|state| writes::fill(state, &mut random, configmaps, filled));
        let client = kube::Client::new(Wire::new(server.clone()), "default");
        // Without views the handlers check that a relist is one step.
        let (is_small, bytes) = (views && random.bool(), random.usize(1..4 << 10));
        let defaults = FactoryOptions::default();
        let options = FactoryOptions {
            concurrent_lists_max: lists_max,
            relist_bytes_max: if is_small { bytes } else { defaults.relist_bytes_max },
            linger: Duration::from_secs(random.u64(0..30)),
            seed: random.u64(..),
            ..defaults
        };
        let source = ApiServer::new(client).without_last_applied();
        let factory = SharedInformerFactory::new(Arc::new(source), options);
        let around = Around {
            server: server.clone(),
            journal: journal.clone(),
            faults: faults.clone(),
            views,
            selectors: random.bool(),
            mostly_metadata,
        };
        let clients = Clients::new(factory, around, random.fork());
        Self { random, journal, faults, server, clients, resources, names }
    }

    async fn step(&mut self) {
        match self.random.u32(..100) {
            0..=39 => self.write(),
            40..=64 => self.wait().await,
            65..=74 => {
                self.journal.step(format_args!("replicate"));
                self.server.replicate(self.random.bool());
            }
            75..=84 => self.disturb(),
            _ => self.use_clients(),
        }
        // All tasks do what they can do without time passing.
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.clients.check_quiet();
    }

    fn write(&mut self) {
        let gvr = &self.resources[self.random.usize(..self.resources.len())];
        // Sometimes there are more changes at once than a queue keeps separate, of many objects or of the same few.
        let (count, names) = match self.random.u32(..50) {
            0 => (60, self.names),
            1 => (60, 1),
            _ => (self.random.usize(1..4), self.names),
        };
        for _ in 0..count {
            let random = &mut self.random;
            let what = self.server.write(|state| writes::random(state, random, gvr, names));
            self.journal.step(format_args!("{what}"));
        }
    }

    async fn wait(&mut self) {
        let millis = match self.random.u32(..10) {
            0..=3 => self.random.u64(1..50),
            4..=6 => self.random.u64(50..2_000),
            7..=8 => self.random.u64(2_000..30_000),
            _ => self.random.u64(30_000..400_000),
        };
        self.journal.step(format_args!("wait {millis} ms"));
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    /// Adds a fault on the server's side.
    fn disturb(&mut self) {
        let seconds = |random: &mut fastrand::Rng| Duration::from_secs(random.u64(1..120));
        match self.random.u32(..20) {
            0..=3 => {
                self.journal.step(format_args!("cut all connections"));
                self.server.cut_all();
            }
            4..=6 => {
                self.journal.step(format_args!("compact"));
                self.server.compact();
            }
            7..=9 => {
                self.journal.step(format_args!("back up"));
                self.server.back_up();
            }
            10..=11 => {
                let down = Duration::from_secs(self.random.u64(10..60));
                self.journal.step(format_args!("rewind, down for {down:?}"));
                self.server.rewind(down);
            }
            12..=13 => {
                let down = seconds(&mut self.random);
                self.journal.step(format_args!("restart, down for {down:?}"));
                self.server.restart(down);
            }
            14..=15 => {
                let gvr = &self.resources[self.random.usize(..self.resources.len())];
                let time = seconds(&mut self.random);
                // The third kind takes no random number, so that old seeds still give their old runs.
                let fault = match self.random.bool() {
                    true if time.as_secs() % 2 == 0 => Fault::ForbiddenWhole,
                    true => Fault::Forbidden,
                    false => Fault::Unauthorized,
                };
                self.journal.step(format_args!("{} for {gvr}, for {time:?}", fault.as_str()));
                self.server.close(gvr, fault, time);
            }
            16 => {
                let time = seconds(&mut self.random);
                // The second kind takes no random number either.
                if time.as_secs() % 2 == 1 {
                    let number = time.as_secs() as usize / 2;
                    return self.withhold_watches(number, time);
                }
                let time = time * 10;
                self.journal.step(format_args!("refuse watch-lists for {time:?}"));
                self.server.refuse_watch_lists(time);
            }
            _ => {
                let served = self.server.state().serves(&self.resources[2]);
                let verb = if served { "take away" } else { "define" };
                self.journal.step(format_args!("{verb} widgets"));
                writes::define_widgets(&self.server, !served);
            }
        }
    }

    /// Answers lists of a resource, but not its watches. The number decides the resource and the fault.
    fn withhold_watches(&self, number: usize, time: Duration) {
        let gvr = &self.resources[number % self.resources.len()];
        let fault = WITHOUT_WATCHES[number % WITHOUT_WATCHES.len()];
        self.journal.step(format_args!("{} of {gvr}, for {time:?}", fault.as_str()));
        self.server.withhold_watches(gvr, fault, time);
    }

    fn use_clients(&mut self) {
        let count = self.clients.len();
        let choice = self.random.u32(..12);
        if count == 0 || (choice <= 1 && count < TENANTS_MAX) {
            let gvr = &self.resources[self.random.usize(..self.resources.len())];
            self.journal.step(format_args!("a new user of {gvr}"));
            self.clients.lease(gvr);
            return;
        }
        let tenant = self.random.usize(..count);
        match choice {
            0..=2 => {
                self.journal.step(format_args!("user {tenant} goes"));
                self.clients.leave(tenant);
            }
            3..=4 => {
                self.journal.step(format_args!("user {tenant} adds a handler"));
                self.clients.add_handler(tenant);
            }
            5..=6 => {
                self.journal.step(format_args!("user {tenant} removes a handler"));
                self.clients.remove_handler(tenant);
            }
            7 => {
                self.journal.step(format_args!("user {tenant} starts or ends its controller"));
                self.clients.toggle_controller(tenant);
            }
            8 => {
                self.journal.step(format_args!("user {tenant} adds or removes an index"));
                self.clients.toggle_index(tenant);
            }
            _ => {
                self.journal.step(format_args!("user {tenant} reads"));
                self.clients.read(tenant);
            }
        }
    }

    /// Ends all faults and waits for rest.
    async fn rest(&mut self) {
        self.journal.step(format_args!("rest"));
        if self.clients.len() == 0 {
            self.clients.lease(&self.resources[0]);
        }
        self.server.heal();
        // In some runs an absent resource stays absent. Then its informers wait, and are empty.
        if self.random.u32(..3) > 0 {
            writes::define_widgets(&self.server, true);
        }
        self.settle(AT_REST_AFTER, "all is right some time after the last fault").await;
        if self.journal.is_broken() {
            return;
        }
        self.journal.step(format_args!("at rest"));
        self.clients.check_at_rest();
        if !self.journal.is_broken() {
            self.rest_without_watches().await;
        }
    }

    /// Waits until the clients are at rest.
    async fn settle(&self, within: Duration, invariant: &'static str) {
        let began = tokio::time::Instant::now();
        while !self.journal.is_broken() {
            tokio::time::sleep(Duration::from_secs(20)).await;
            self.clients.check_quiet();
            match self.clients.restless() {
                None => return,
                Some(found) if began.elapsed() > within => self.journal.broken(invariant, found),
                Some(_) => {}
            }
        }
    }

    /// Ends all watches for good, while lists go on. Every change must still be visible in time. By then no watch from
    /// the time before the rest is left: an informer on a dead connection would wait longer than any pause.
    async fn rest_without_watches(&mut self) {
        tokio::time::sleep(DEAD_CONNECTION_MAX).await;
        let number = self.random.usize(..);
        self.withhold_watches(number, Duration::from_secs(100_000));
        for _ in 0..6 {
            self.write();
        }
        self.settle(SEEN_WITHOUT_WATCHES_AFTER, "lists take the place of watches in time").await;
    }

    /// Shuts everything down, and checks that nothing is left.
    async fn end(self) {
        self.journal.step(format_args!("shutdown"));
        self.clients.shutdown().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        let left = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        self.journal.check(left == 0, "no task is left after a shutdown", || left.to_string());
        let _ = self.faults;
    }
}

fn temper(random: &mut fastrand::Rng) -> Temper {
    let one_of = |random: &mut fastrand::Rng, rates: [f64; 4]| rates[random.usize(..4)];
    Temper {
        request_fault: one_of(random, [0.0, 0.05, 0.15, 0.35]),
        line_fault: one_of(random, [0.0, 0.02, 0.06, 0.2]),
        prompt: random.bool(),
        page_max: if random.bool() { random.usize(1..8) } else { 0 },
        bookmarks: if random.u32(..4) == 0 {
            Duration::from_secs(100_000)
        } else {
            Duration::from_secs(random.u64(5..70))
        },
    }
}
