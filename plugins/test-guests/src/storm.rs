//! Says of every event what it is, and else does what a plan says that is written into its file: the versions of one plugin that a
//! storm of replacements is made of.
//!
//! The plan takes the place of `PLAN` below, at the same length: lines of a key and its value, then spaces. It says which version this
//! is, what it subscribes to, and where it fails: at `start`, at `restore`, or in `handle` now and then, by ending its instance, with failures that are tried
//! again, or for good. The host must lose nothing.
//!
//! Two guests are made of it: `examples/storm.rs` and, for several instances, `examples/storm-in-shards.rs`.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use informant_plugin::prelude::*;
use informant_plugin::{Gone, Replay, Stateful};

/// How long what fails waits: long enough for hosts to be killed meanwhile.
const RETRY_AFTER: Duration = Duration::from_secs(3);

/// As long as a plan may be, in bytes.
const PLAN_BYTES: usize = 1024;

static PLAN: [u8; PLAN_BYTES] = plan_of(b"storm-plan\nversion 0\nsubscription all\n");

const fn plan_of(text: &[u8]) -> [u8; PLAN_BYTES] {
    let mut plan = [b' '; PLAN_BYTES];
    let mut at = 0;
    while at < text.len() {
        plan[at] = text[at];
        at += 1;
    }
    plan
}

/// The plan that is in the file now, which the compiler must not believe to know.
fn plan() -> &'static str {
    let plan: &'static [u8] = black_box(&PLAN);
    std::str::from_utf8(plan).unwrap_or_default()
}

/// The values of a key, in order.
fn values(key: &'static str) -> impl Iterator<Item = &'static str> {
    let pairs = plan().lines().filter_map(|line| line.trim_end().split_once(' '));
    pairs.filter(move |(known, _)| *known == key).map(|(_, value)| value)
}

/// Zero where the plan says nothing.
fn number(key: &'static str) -> u64 {
    values(key).find_map(|it| it.parse().ok()).unwrap_or(0)
}

fn asks_for(key: &'static str, value: &str) -> bool {
    values(key).any(|known| known == value)
}

/// `name`, or `name again`, or either with the colours that are wanted behind it.
fn subscription(value: &str) -> Subscription {
    let mut words = value.split(' ');
    let name = words.next().unwrap_or_default();
    let mut wanted = Subscription::to("v1/configmaps").named(name).in_namespace("storm");
    for word in words {
        wanted = match word {
            "again" => wanted.replay(Replay::InitialAndReload),
            colours => wanted.labels(format!("colour in ({colours})")),
        };
    }
    wanted
}

/// The plugin.
pub struct Storm {
    version: &'static str,
    names: Vec<&'static str>,
    /// An event whose resourceVersion this divides ends the instance, at the first attempt; none for 0.
    traps_every: u64,
    /// The same for one that fails, at the first two attempts.
    fails_every: u64,
    /// The same for one that it gives up, at any attempt.
    gives_up_every: u64,
    line: String,
}

/// What becomes of a call.
#[derive(Clone, Copy)]
enum End {
    Takes,
    Traps,
    Fails,
    GivesUp,
}

impl End {
    /// As the line has it.
    fn word(self) -> &'static str {
        match self {
            Self::Takes => "-",
            Self::Traps => "traps",
            Self::Fails => "fails",
            Self::GivesUp => "gives-up",
        }
    }
}

impl Storm {
    fn end(&self, number: u64, attempt: u32) -> End {
        let is_every = |every: u64| every > 0 && number.is_multiple_of(every);
        match attempt {
            1 if is_every(self.traps_every) => End::Traps,
            _ if is_every(self.gives_up_every) => End::GivesUp,
            1 | 2 if is_every(self.fails_every) => End::Fails,
            _ => End::Takes,
        }
    }
}

impl Plugin for Storm {
    fn describe(_: &Config) -> Result<Descriptor> {
        let version = values("version").next().unwrap_or_default();
        let wanted = values("subscription").map(subscription);
        Ok(wanted.fold(Descriptor::new(version), Descriptor::subscribe))
    }

    fn start(_: &Config) -> Result<Self> {
        assert!(!asks_for("traps-at", "start"), "asked to trap at start");
        let name = |value: &'static str| value.split(' ').next().unwrap_or_default();
        Ok(Self {
            version: values("version").next().unwrap_or_default(),
            names: values("subscription").map(name).collect(),
            traps_every: number("traps-every"),
            fails_every: number("fails-every"),
            gives_up_every: number("gives-up-every"),
            line: String::new(),
        })
    }

    fn handle(&mut self, event: Event) -> Result {
        let number: u64 = event.resource_version().parse().unwrap_or(0);
        let end = self.end(number, event.attempt());
        let name = self.names.get(event.subscription() as usize).copied().unwrap_or("?");
        let gone = match event.gone() {
            None => "-",
            Some(Gone::Deleted) => "deleted",
            Some(Gone::LeftView) => "left-view",
            Some(Gone::Unknown) => "unknown",
        };
        self.line.clear();
        let _ = write!(
            self.line,
            "event {} {name} {} {number} {} {} {gone} {} {} {}",
            self.version,
            event.uid(),
            event.change(),
            event.reason(),
            event.attempt(),
            event.coalesced(),
            end.word(),
        );
        info!("{}", self.line);
        let failure = || Failure::new(format!("asked to fail by {}", event.key()));
        match end {
            End::Takes => Ok(()),
            End::Traps => panic!("asked to trap by {}", event.key()),
            End::Fails => Err(failure().retry_after(RETRY_AFTER)),
            End::GivesUp => Err(failure().never_retry()),
        }
    }
}

impl Stateful for Storm {
    fn snapshot(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(asks_for("hands", "on").then(|| self.version.as_bytes().to_vec()))
    }

    fn restore(&mut self, from: &str, _: Vec<u8>) -> Result {
        if asks_for("fails-at", "restore") {
            return Err(format!("asked to refuse what {from} knew"))?;
        }
        Ok(())
    }
}
