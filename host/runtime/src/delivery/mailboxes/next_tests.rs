//! The choice of the next work.

use super::*;
use crate::contract::schedule::{ScheduleSpec, When};
use crate::delivery::breaker::{Ended, Outcome};
use crate::delivery::key_queue::Worked;
use crate::delivery::mailbox::tests::{NO_MARK, SUBSCRIPTION, parse, show};
use crate::delivery::timers::Now;
use crate::history::tests::past;
use informant_cache::workqueue::AddOptions;
use jiff::Timestamp;

const PERIOD: Duration = Duration::from_secs(1);

/// A plugin with a schedule for each second and a `synced` call for one subscription, which has no waiting events.
struct Bench {
    queue: Mailboxes,
    hands: Hands,
    now: Now,
}

impl Bench {
    fn new() -> Self {
        let now = Now { instant: Instant::now(), wall: Timestamp::UNIX_EPOCH };
        let mut queue = Mailboxes::new(NO_MARK);
        let beat = ScheduleSpec { name: "beat".into(), when: When::Every(PERIOD) };
        queue.timers.follow(&[beat], now);
        queue.change_initials(|initials| {
            initials.begin(SUBSCRIPTION, 1);
            initials.put_in_place(1);
        });
        let syncs = SyncCalls::new(1, std::iter::once(SUBSCRIPTION));
        queue.set_syncs(0, syncs);
        Self { queue, hands: Hands::ALL, now }
    }

    fn take(&mut self) -> Option<Work> {
        let wall = self.now.wall;
        self.queue.next(0, self.hands, self.now.instant, || wall)
    }

    /// Ends the work with this outcome, and returns a text about it.
    fn end(&mut self, work: Work, outcome: Outcome) -> String {
        let now = self.now.instant;
        let ended = Some(Ended { outcome, first: true, began: now });
        let delivery = past(now);
        let (text, done) = match &work {
            Work::Start => ("start".to_owned(), Completed::Started),
            Work::Sync(call) => {
                ("sync".to_owned(), Completed::Synced(call.id, Settled::Finished, None))
            }
            Work::Fire(firing) => {
                ("fire".to_owned(), Completed::Fired(firing, Settled::Finished, None, self.now))
            }
            Work::Reconcile(work) => {
                (work.key.to_string(), Completed::Reconciled(Worked::Done { again: None }))
            }
            Work::Deliver(queued) => {
                (show(queued), Completed::Delivered(Settled::Finished, &delivery))
            }
        };
        self.queue.settle(0, done, ended, now);
        self.queue.check_invariants();
        text
    }
}

/// `s`: a subscription has synced. `t`: a period passes. `k1`: a key comes. `+a1`: an event. `never`, `later` and
/// `now`: whether keys are worked on. `lost` and `found`: whether there is an instance. `trip` opens the breaker, and
/// `pause` lets its pause pass. `*` takes the next work and finishes it.
#[track_caller]
fn check(steps: &str, expect: &str) {
    let mut bench = Bench::new();
    let mut shown = Vec::new();
    for step in steps.split(' ') {
        let now = bench.now.instant;
        match step {
            "s" => bench.queue.change_initials(|initials| initials.queued(SUBSCRIPTION, 1)),
            "t" => bench.now.instant += PERIOD,
            "never" => bench.hands.reconciles = Reconciles::Never,
            "later" => bench.hands.reconciles = Reconciles::Later,
            "now" => bench.hands.reconciles = Reconciles::Now,
            "lost" => bench.hands.has_instance = false,
            "found" => bench.hands.has_instance = true,
            "trip" => {
                let ended = Ended { outcome: Outcome::Lost, first: false, began: now };
                (0..5)
                    .for_each(|_| _ = bench.queue.settle(0, Completed::Started, Some(ended), now));
            }
            "pause" => {
                bench.now.instant = bench.queue.held_until(bench.hands, now).expect("it is held")
            }
            "*" => {
                let due = bench.queue.due(0, bench.hands, now);
                let is_held = bench.queue.held_until(bench.hands, now).is_some();
                let work = bench.take();
                let is_due = due.is_some_and(|due| due <= now);
                assert_eq!(work.is_some(), is_due && !is_held, "{steps}: {work:?}");
                shown.push(work.map_or("-".to_owned(), |work| bench.end(work, Outcome::Succeeded)));
            }
            key if key.starts_with('k') => {
                bench.queue.keys.add(key, AddOptions::default(), now).expect("there is room");
            }
            event => bench.queue.push(parse(event)),
        }
    }
    assert_eq!(shown.join(" "), expect, "{steps}");
}

#[test]
fn a_call_for_a_subscription_comes_first_and_a_schedule_next() {
    check("+a1 k1 t s * * * * *", "sync fire +a1 k1 -");
    check("+a1 t * * s * *", "fire +a1 sync -");
}

#[test]
fn a_schedule_never_comes_twice_in_a_row_while_anything_else_waits() {
    check("t * t +a1 +b1 * * * t * t *", "fire +a1 fire +b1 fire fire");
}

#[test]
fn keys_and_events_that_the_guest_is_told_of_take_turns() {
    check("+a1 +b1 +c1 k1 k2 * * * * * *", "+a1 k1 +b1 k2 +c1 -");
}

/// Invariant 21.
#[test]
fn keys_wait_for_what_is_to_be_read_and_events_do_not() {
    check("+a1 k1 later * * now * *", "+a1 - k1 -");
    check("+a1 k1 never * *", "+a1 -");
}

#[test]
fn without_an_instance_one_is_started() {
    check("+a1 s lost * found * *", "start sync +a1");
}

#[test]
fn a_plugin_that_is_tripped_is_tried_with_an_event_after_its_pause() {
    check("s trip +a1 +b1 * pause * * *", "- +a1 sync +b1");
}
