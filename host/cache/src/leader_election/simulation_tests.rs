//! Seeded elections under faults, with clocks of different rates. Two processes never lead at once. Once the faults
//! have ended, a process leads within [`RECOVERY_US`] and goes on to.
//!
//! Time is a number here and nothing waits, so a thousand elections of several minutes take seconds. Each node is the
//! state machine under a model of its driver; the server keeps versions as the API server does. A request that its
//! sender gave up, or sent before it crashed, may still arrive late.

use super::LeaderElectionConfig;
use super::record::{LeaderElectionRecord, VersionedRecord};
use super::resource_lock::LockError;
use super::state::{ElectionAction, ElectionInput, ElectionState};
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

const SEEDS: u64 = 1_000;
const NODES: usize = 4;
/// Microseconds, the unit of all times here.
const SECOND: u64 = 1_000_000;
/// How long faults occur, and how long none occur after that.
const FAULTS_US: u64 = 180 * SECOND;
const CALM_US: u64 = 100 * SECOND;
/// The most by which clocks run faster or slower. The timings allow rates that differ by a factor of 1.5; 1.35 occurs.
const RATE_OFF_MAX: f64 = 0.15;
/// The most by which a delayed request is late.
const LATE_US: u64 = 12 * SECOND;
/// After the last fault a late request may still renew the lease (12 s), which then runs out (15 s). A candidate sees
/// it late (4.4 s, and a request that hangs, 5 s). It waits for its next try (4.4 s) and may meet a conflict once (4.4
/// s). All these times are by a slow clock.
const RECOVERY_US: u64 = LATE_US + 39 * SECOND;

enum Event {
    Start {
        node: usize,
    },
    /// An answer comes back to a node, if it still waits for it.
    Back {
        ticket: Ticket,
        input: ElectionInput,
    },
    Arrives {
        ticket: Ticket,
        request: ElectionAction,
    },
    Fault,
}

/// An action of a life of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ticket {
    node: usize,
    life: u64,
    action: u64,
}

struct Node {
    election: ElectionState,
    /// The rate of the local clock against the real one.
    rate: f64,
    life: u64,
    action: u64,
    alive: bool,
    /// It runs no code until then, but its clock goes on, and readers can ask whether it leads.
    paused_until: u64,
    led: bool,
}

/// The faults that occurred, so that the test can show that all kinds did.
#[derive(Debug, Default)]
struct Met {
    terms: u64,
    requests_lost: u64,
    answers_lost: u64,
    late_writes: u64,
    conflicts: u64,
    crashes: u64,
    pauses: u64,
    shutdowns: u64,
    outages: u64,
}

struct World {
    random: fastrand::Rng,
    seed: u64,
    start: Instant,
    now: u64,
    number: u64,
    events: BTreeMap<(u64, u64), Event>,
    nodes: Vec<Node>,
    stored: Option<VersionedRecord>,
    version: u64,
    outage_until: u64,
    met: Met,
}

fn config(node: usize, life: u64, seed: u64) -> LeaderElectionConfig {
    LeaderElectionConfig { seed, ..LeaderElectionConfig::new(format!("{node}-{life}")) }
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let node = |node| Node {
            election: ElectionState::new(config(node, 0, 0)).0,
            rate: 1.0 + RATE_OFF_MAX * (2.0 * random.f64() - 1.0),
            life: 0,
            action: 0,
            alive: false,
            paused_until: 0,
            led: false,
        };
        let nodes = (0..NODES).map(node).collect();
        let mut world = Self {
            random,
            seed,
            start: Instant::now(),
            now: 0,
            number: 0,
            events: BTreeMap::new(),
            nodes,
            stored: None,
            version: 0,
            outage_until: 0,
            met: Met::default(),
        };
        (0..NODES).for_each(|node| world.push(0, Event::Start { node }));
        world.push(SECOND, Event::Fault);
        world
    }

    fn run(mut self) -> Met {
        while let Some(((at, _), event)) = self.events.pop_first() {
            if at > FAULTS_US + CALM_US {
                break;
            }
            self.now = at;
            self.happen(event);
            self.check();
        }
        self.met
    }

    fn push(&mut self, after: u64, event: Event) {
        self.number += 1;
        self.events.insert((self.now + after, self.number), event);
    }

    fn faulty(&self) -> bool {
        self.now < FAULTS_US
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.faulty() && self.random.u64(..100) < percent
    }

    /// A random time within so many seconds, before the end of the faults.
    fn until(&mut self, seconds: u64) -> u64 {
        (self.now + self.random.u64(..seconds * SECOND)).min(FAULTS_US)
    }

    fn local(&self, node: usize) -> Instant {
        let seconds = self.now as f64 / SECOND as f64 * self.nodes[node].rate;
        self.start + Duration::from_secs_f64(seconds)
    }

    fn leads(&self, node: usize) -> bool {
        let Node { election, alive, .. } = &self.nodes[node];
        *alive && election.term().is_some_and(|term| self.local(node) < term.valid_until)
    }

    /// The oracle. A term begins only in a step, so a check after each event covers all times.
    fn check(&mut self) {
        let leaders: Vec<usize> = (0..NODES).filter(|node| self.leads(*node)).collect();
        let (seed, now) = (self.seed, self.now);
        assert!(leaders.len() <= 1, "seed {seed}: {leaders:?} lead at once at {now} us");
        let recovered = now > FAULTS_US + RECOVERY_US;
        assert!(!recovered || leaders.len() == 1, "seed {seed}: nobody leads at {now} us");
        for node in 0..NODES {
            let leads = leaders.contains(&node);
            self.met.terms += u64::from(leads && !self.nodes[node].led);
            self.nodes[node].led = leads;
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Fault => self.fault(),
            Event::Start { node } => {
                let life = self.nodes[node].life + 1;
                let (election, action) =
                    ElectionState::new(config(node, life, self.random.u64(..)));
                let old = &mut self.nodes[node];
                (old.election, old.life, old.alive) = (election, life, true);
                self.act(node, action);
            }
            Event::Arrives { ticket, request } => self.arrive(ticket, request),
            Event::Back { ticket, input } => {
                if self.is_current(ticket) {
                    let paused_until = self.nodes[ticket.node].paused_until;
                    if self.now < paused_until {
                        self.push(paused_until - self.now, Event::Back { ticket, input });
                    } else {
                        self.step(ticket.node, input);
                    }
                }
            }
        }
    }

    fn is_current(&self, ticket: Ticket) -> bool {
        let node = &self.nodes[ticket.node];
        node.alive && (node.life, node.action) == (ticket.life, ticket.action)
    }

    fn step(&mut self, node: usize, input: ElectionInput) {
        let now = self.local(node);
        // Wall clocks are hours apart: no process may compare them.
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(3600 * node as u64);
        let action = self.nodes[node].election.step(input, now, wall);
        self.act(node, action);
    }

    fn act(&mut self, node: usize, action: ElectionAction) {
        self.nodes[node].action += 1;
        let Node { life, action: number, rate, .. } = self.nodes[node];
        let ticket = Ticket { node, life, action: number };
        let real = |local: Duration| (local.as_micros() as f64 / rate) as u64 + 1;
        let timeout = LeaderElectionConfig::new("x").request_timeout();
        let unavailable = || LockError::Unavailable { message: "timeout".to_owned() };
        match action {
            ElectionAction::Finish => self.stop(node),
            ElectionAction::Wait(wait) => {
                self.push(real(wait), Event::Back { ticket, input: ElectionInput::Elapsed })
            }
            request => {
                let input = match request {
                    ElectionAction::Get => ElectionInput::Read(Err(unavailable())),
                    _ => ElectionInput::Written(Err(unavailable())),
                };
                self.push(real(timeout), Event::Back { ticket, input });
                if self.chance(8) {
                    self.met.requests_lost += 1;
                } else {
                    let delay = self.delay();
                    self.push(delay, Event::Arrives { ticket, request });
                }
            }
        }
    }

    fn delay(&mut self) -> u64 {
        let most = match self.random.u8(..10) {
            0 if self.faulty() => LATE_US,
            1..=2 if self.faulty() => 3 * SECOND,
            _ => SECOND / 20,
        };
        self.random.u64(1_000..most)
    }

    fn arrive(&mut self, ticket: Ticket, request: ElectionAction) {
        let is_get = request == ElectionAction::Get;
        let result = if self.now < self.outage_until {
            Err(LockError::Unavailable { message: "outage".to_owned() })
        } else {
            self.serve(request)
        };
        self.met.conflicts += u64::from(result == Err(LockError::Conflict));
        self.met.late_writes += u64::from(!is_get && result.is_ok() && !self.is_current(ticket));
        let input =
            if is_get { ElectionInput::Read(result) } else { ElectionInput::Written(result) };
        if self.chance(8) {
            self.met.answers_lost += 1;
        } else {
            let delay = self.delay();
            self.push(delay, Event::Back { ticket, input });
        }
    }

    fn serve(&mut self, request: ElectionAction) -> Result<VersionedRecord, LockError> {
        match (request, &self.stored) {
            (ElectionAction::Get, stored) => stored.clone().ok_or(LockError::NotFound),
            (ElectionAction::Create(record), None) => Ok(self.write(record)),
            (ElectionAction::Create(_), Some(_)) => Err(LockError::Conflict),
            (ElectionAction::Update(..), None) => Err(LockError::NotFound),
            (ElectionAction::Update(record, version), Some(stored)) => {
                if stored.resource_version == version {
                    Ok(self.write(record))
                } else {
                    Err(LockError::Conflict)
                }
            }
            (ElectionAction::Wait(_) | ElectionAction::Finish, _) => {
                unreachable!("they are no requests")
            }
        }
    }

    fn write(&mut self, record: LeaderElectionRecord) -> VersionedRecord {
        self.version += 1;
        let stored = VersionedRecord { record, resource_version: self.version.to_string() };
        self.stored = Some(stored.clone());
        stored
    }

    fn fault(&mut self) {
        if !self.faulty() {
            return;
        }
        let node = self.random.usize(..NODES);
        match self.random.u8(..6) {
            0 if self.nodes[node].alive => {
                self.met.crashes += 1;
                self.stop(node);
            }
            1 if self.nodes[node].alive => {
                self.met.shutdowns += 1;
                self.step(node, ElectionInput::Cancelled);
            }
            2..=3 => {
                self.met.pauses += 1;
                self.nodes[node].paused_until = self.until(40);
            }
            4 => {
                self.met.outages += 1;
                self.outage_until = self.until(30);
            }
            _ => {}
        }
        let after = self.random.u64(SECOND / 10..8 * SECOND);
        self.push(after, Event::Fault);
    }

    /// The node ends, and another replaces it, before the end of the faults.
    fn stop(&mut self, node: usize) {
        self.nodes[node].alive = false;
        let after = self.until(20).saturating_sub(self.now);
        self.push(after, Event::Start { node });
    }
}

#[test]
fn never_do_two_lead_at_once_and_somebody_leads_again_after_faults() {
    let mut sum = Met::default();
    for seed in 0..SEEDS {
        let met = World::new(seed).run();
        sum.terms += met.terms;
        sum.requests_lost += met.requests_lost;
        sum.answers_lost += met.answers_lost;
        sum.late_writes += met.late_writes;
        sum.conflicts += met.conflicts;
        sum.crashes += met.crashes;
        sum.pauses += met.pauses;
        sum.shutdowns += met.shutdowns;
        sum.outages += met.outages;
    }
    let Met { terms, requests_lost, answers_lost, late_writes, conflicts, .. } = sum;
    let Met { crashes, pauses, shutdowns, outages, .. } = sum;
    let met = [terms, requests_lost, answers_lost, late_writes, conflicts];
    let faults = [crashes, pauses, shutdowns, outages];
    assert!(met.iter().chain(&faults).all(|count| *count > SEEDS / 10), "{sum:?}");
}
