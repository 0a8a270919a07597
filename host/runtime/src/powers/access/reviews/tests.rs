//! The state machine with the test's clock.

use super::*;

/// A few questions and a clock.
struct Bench {
    reviews: Reviews,
    start: Instant,
    now: Instant,
}

fn ask(number: usize) -> AccessQuestion {
    AccessQuestion {
        account: "shop/reader".parse().expect("it is one"),
        resource: "v1/pods".parse().expect("it is one"),
        namespace: Some(format!("n{number}")),
    }
}

const REVIEW_EVERY: Duration = Duration::from_secs(5 * 60);
const ALLOWED_FOR: Duration = REVIEW_EVERY.saturating_add(GRACE);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

impl Bench {
    fn new(asks: usize) -> Self {
        let start = Instant::now();
        let mut reviews = Reviews::new(REVIEW_EVERY, start);
        for number in 0..asks {
            assert!(reviews.ask(ask(number), start));
        }
        Self { reviews, start, now: start }
    }

    fn after(&mut self, time: Duration) -> &mut Self {
        self.now += time;
        self.reviews.lapse(self.now);
        self
    }

    /// Reviews the next due question.
    #[track_caller]
    fn answer(&mut self, answered: ReviewResult) -> AccessQuestion {
        let ask = self.reviews.begin(self.now).expect("one is due");
        self.reviews.answered(&ask, answered, self.now);
        ask
    }

    fn shown(&self) -> &'static str {
        match self.reviews.verdict(&ask(0)) {
            Err(ReadRefusal::Unknown(_)) => "unknown",
            Ok(()) => "allowed",
            Err(ReadRefusal::Denied(_)) => "denied",
        }
    }

    fn why(&self) -> &str {
        self.reviews.verdict(&ask(0)).as_ref().err().map_or("", ReadRefusal::text)
    }

    /// Seconds until the next step, without the rounding of a token.
    fn waits(&self) -> Option<u64> {
        let next = self.reviews.next(self.now)?;
        Some((next.saturating_duration_since(self.now)).as_secs())
    }
}

fn failed() -> ReviewResult {
    Err("no route to host".to_owned())
}

#[test]
fn nothing_is_allowed_before_somebody_has_said_so() {
    let mut bench = Bench::new(1);
    assert_eq!(bench.shown(), "unknown");
    bench.answer(failed());
    assert_eq!(bench.shown(), "unknown");
    assert!(bench.why().ends_with("could not be asked: no route to host"), "{}", bench.why());
    bench.after(SECOND).answer(Ok(AccessAnswer::Allowed));
    assert_eq!(bench.shown(), "allowed");
    assert!(
        matches!(bench.reviews.verdict(&ask(7)), Err(ReadRefusal::Denied(_))),
        "nobody asked for it"
    );
}

#[test]
fn it_is_asked_again_every_five_minutes_and_the_last_answer_counts() {
    let mut bench = Bench::new(1);
    for answered in [
        Ok(AccessAnswer::Allowed),
        Ok(AccessAnswer::Denied("no".into())),
        Ok(AccessAnswer::Allowed),
    ] {
        let expect = if answered == Ok(AccessAnswer::Allowed) { "allowed" } else { "denied" };
        bench.answer(answered);
        assert_eq!(bench.shown(), expect);
        assert_eq!(bench.reviews.begin(bench.now), None);
        assert_eq!(bench.waits(), Some(REVIEW_EVERY.as_secs()));
        bench.after(REVIEW_EVERY - SECOND);
        assert_eq!(bench.reviews.begin(bench.now), None);
        bench.after(SECOND);
    }
}

#[test]
fn an_allowance_that_cannot_be_reviewed_ends() {
    let mut bench = Bench::new(1);
    bench.answer(Ok(AccessAnswer::Allowed));
    bench.after(REVIEW_EVERY);
    let mut waited = Vec::new();
    while bench.now < bench.start + ALLOWED_FOR - RETRY_MAX {
        bench.answer(failed());
        let wait = bench.waits().expect("it is tried again");
        waited.push(wait);
        assert_eq!(bench.shown(), "allowed");
        bench.after(Duration::from_secs(wait.max(1)));
    }
    assert_eq!(waited[..6], [1, 2, 4, 8, 16, 30]);
    let left = bench.start + ALLOWED_FOR - bench.now;
    bench.after(left - SECOND);
    assert_eq!(bench.shown(), "allowed");
    bench.after(SECOND);
    assert_eq!(bench.shown(), "denied");
    let expect = "v1/pods in n0 by the service account shop/reader could not be reviewed for 300 s: no route to host";
    assert_eq!(bench.why(), expect);
    bench.answer(failed());
    assert_eq!(bench.shown(), "denied");
    bench.after(MINUTE).answer(Ok(AccessAnswer::Allowed));
    assert_eq!(bench.shown(), "allowed");
}

#[test]
fn an_answer_counts_from_when_it_was_asked_for() {
    let mut bench = Bench::new(1);
    let begun = bench.reviews.begin(bench.now).expect("one is due");
    bench.after(9 * SECOND);
    bench.reviews.answered(&begun, Ok(AccessAnswer::Allowed), bench.now);
    bench.after(ALLOWED_FOR - 10 * SECOND);
    assert_eq!(bench.shown(), "allowed");
    bench.after(SECOND);
    assert_eq!(bench.shown(), "denied");
}

#[test]
fn so_many_reviews_are_under_way_and_so_many_are_begun() {
    let mut bench = Bench::new(ASKS_MAX);
    assert!(!bench.reviews.ask(ask(ASKS_MAX), bench.now), "one more than there is room for");
    assert!(bench.reviews.ask(ask(1), bench.now), "one that is there");
    let mut begun = Vec::new();
    while let Some(ask) = bench.reviews.begin(bench.now) {
        begun.push(ask);
    }
    assert_eq!(begun.len(), AT_ONCE);
    assert_eq!(bench.reviews.next(bench.now), None, "only answers are waited for");
    for ask in &begun {
        bench.reviews.answered(ask, Ok(AccessAnswer::Allowed), bench.now);
    }
    let mut at_once = AT_ONCE;
    while bench.reviews.begin(bench.now).is_some_and(|ask| {
        bench.reviews.answered(&ask, Ok(AccessAnswer::Allowed), bench.now);
        true
    }) {
        at_once += 1;
    }
    assert_eq!(at_once, BURST as usize);
    for _ in at_once..ASKS_MAX {
        bench.after(Duration::from_secs_f64(1.0 / PER_SECOND) + Duration::from_micros(1));
        bench.answer(Ok(AccessAnswer::Allowed));
    }
    let took = bench.now - bench.start;
    assert!(took < REVIEW_EVERY, "{took:?}: each comes again in time");
    assert!((0..ASKS_MAX).all(|n| *bench.reviews.verdict(&ask(n)) == Ok(())));
    bench.reviews.forget(&ask(0));
    assert!(bench.reviews.ask(ask(ASKS_MAX), bench.now), "there is room again");
}

#[test]
fn what_has_waited_longest_is_reviewed_first() {
    let mut bench = Bench::new(2);
    assert_eq!(bench.answer(Ok(AccessAnswer::Allowed)), ask(0));
    bench.after(MINUTE);
    assert_eq!(bench.answer(Ok(AccessAnswer::Allowed)), ask(1));
    bench.after(REVIEW_EVERY);
    assert_eq!(bench.answer(Ok(AccessAnswer::Allowed)), ask(0));
    assert_eq!(bench.answer(Ok(AccessAnswer::Allowed)), ask(1));
}
