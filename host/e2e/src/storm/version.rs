//! The versions of the plugin that a storm replaces one by another: what each is to do, drawn from the seed, and its file.

use std::fmt::Write as _;

use anyhow::Context;

use crate::storm::history::COLOURS;

/// How the plan in the built guest begins; see `plugins/test-guests/src/storm.rs`.
const MARK: &[u8] = b"storm-plan\n";
const PLAN_BYTES: usize = 1024;

/// An event in so many ends the instance, in a version that traps now and then.
const TRAPS_EVERY: u64 = 701;

/// An event in so many fails where failures are wanted.
const FAILS_EVERY: u64 = 61;

/// What the plugin is told of under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The subscription's name.
    pub name: &'static str,
    /// One bit for each of [`COLOURS`].
    pub colours: u8,
    /// Whether its objects are told again at a reload.
    pub again: bool,
}

impl Wanted {
    /// Whether an object of this colour belongs to it; one that is gone does not.
    pub fn has(&self, colour: Option<u8>) -> bool {
        colour.is_some_and(|colour| self.colours & 1 << colour != 0)
    }
}

/// Where a version fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fails {
    /// Nowhere.
    Never,
    /// Its file is no WebAssembly.
    AsFile,
    /// It traps in `start`.
    AtStart,
    /// It refuses what the version before it hands over.
    AtRestore,
    /// It traps in `handle` now and then.
    NowAndThen,
}

/// Events whose resourceVersion one of these divides fail for some seconds, or are given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventFailures {
    /// They come again twice.
    pub fails_every: u64,
    /// They become dead letters.
    pub gives_up_every: u64,
}

impl EventFailures {
    /// What fails holds its object up for seconds, so it is few. Of what is told of everything one event a second is given up: a long storm has fewer
    /// dead letters than are kept.
    pub fn at(changes_per_second: u32) -> Self {
        Self { fails_every: FAILS_EVERY, gives_up_every: u64::from(changes_per_second).max(20) }
    }
}

/// One version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The version that it calls itself.
    pub number: u32,
    /// Where it fails.
    pub fails: Fails,
    /// Which of its events fail, if any do.
    pub failures: Option<EventFailures>,
    /// Whether it hands something to its successor.
    pub hands_on: bool,
    /// Its subscriptions in their order.
    pub wanted: Vec<Wanted>,
}

impl Version {
    /// The first one: it wants everything and does not fail.
    pub fn first(failures: Option<EventFailures>) -> Self {
        let mut random = fastrand::Rng::with_seed(0);
        let wanted = wanted(&mut random);
        Self { number: 1, fails: Fails::Never, failures, hands_on: false, wanted }
    }

    /// Any other.
    pub fn draw(number: u32, failures: Option<EventFailures>, random: &mut fastrand::Rng) -> Self {
        let fails = match random.u8(..10) {
            0 => Fails::AsFile,
            1 => Fails::AtStart,
            2 | 3 => Fails::AtRestore,
            4 | 5 => Fails::NowAndThen,
            _ => Fails::Never,
        };
        let hands_on = random.bool();
        Self { number, fails, failures, hands_on, wanted: wanted(random) }
    }

    /// What it wants under this name.
    pub fn wanted(&self, name: &str) -> Option<&Wanted> {
        self.wanted.iter().find(|wanted| wanted.name == name)
    }

    /// The bytes of its file, made from those of the guest as it was built.
    pub fn file(&self, built: &[u8]) -> anyhow::Result<Vec<u8>> {
        if self.fails == Fails::AsFile {
            // Half of a good one, as a copy that broke off leaves it; the number makes it another file each time.
            return Ok([&built[..built.len() / 2], &self.number.to_le_bytes()].concat());
        }
        let plan = self.plan();
        anyhow::ensure!(plan.len() <= PLAN_BYTES, "the plan has {} bytes", plan.len());
        let at = built.windows(MARK.len()).position(|window| window == MARK);
        let at = at.context("the built guest has no place for a plan")?;
        let mut file = built.to_vec();
        let place = file.get_mut(at..at + PLAN_BYTES).context("the place is whole")?;
        place.fill(b' ');
        place[..plan.len()].copy_from_slice(plan.as_bytes());
        Ok(file)
    }

    fn plan(&self) -> String {
        let mut plan = format!("storm-plan\nversion {}\n", self.number);
        match self.fails {
            Fails::Never | Fails::AsFile => {}
            Fails::AtStart => plan.push_str("traps-at start\n"),
            Fails::AtRestore => plan.push_str("fails-at restore\n"),
            Fails::NowAndThen => {
                let _ = writeln!(plan, "traps-every {TRAPS_EVERY}");
            }
        }
        if let Some(EventFailures { fails_every, gives_up_every }) = self.failures {
            let _ = writeln!(plan, "fails-every {fails_every}\ngives-up-every {gives_up_every}");
        }
        if self.hands_on {
            plan.push_str("hands on\n");
        }
        for wanted in &self.wanted {
            let _ = write!(plan, "subscription {}", wanted.name);
            if wanted.again {
                plan.push_str(" again");
            }
            if wanted.colours != u8::MAX {
                let chosen = (0..8).filter(|&colour| wanted.has(Some(colour)));
                let names: Vec<&str> = chosen.map(|colour| COLOURS[usize::from(colour)]).collect();
                let _ = write!(plan, " {}", names.join(","));
            }
            plan.push('\n');
        }
        plan
    }
}

/// One that is always the same, one under either of two names, one of changing colours, one that wants its objects again, one that is
/// there or not, in any order.
fn wanted(random: &mut fastrand::Rng) -> Vec<Wanted> {
    let one = |name, colours, again| Wanted { name, colours, again };
    let mut wanted = vec![
        one("all", u8::MAX, false),
        one(random.choice(["red", "crimson"]).unwrap_or("red"), 1 << 6, false),
        one("tint", 1 << random.u8(..8) | 1 << random.u8(..8), false),
        one("echo", 1 << 3, true),
    ];
    if random.bool() {
        wanted.push(one("blue", 1 << 1, false));
    }
    random.shuffle(&mut wanted);
    wanted
}
