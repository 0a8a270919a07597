//! The machine alone: inputs in, actions out, time by hand.

use super::*;
use informant_apimachinery::Status;

struct Bench {
    machine: Machine,
    action: ReflectorAction,
    started: Instant,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        Self::with(ListTweaks::default())
    }

    fn with(tweaks: ListTweaks) -> Self {
        Self::start(tweaks, false)
    }

    fn start(tweaks: ListTweaks, again: bool) -> Self {
        let now = Instant::now();
        let (machine, action) = Machine::start(tweaks, 1, again, now);
        Self { machine, action, started: now, now }
    }

    fn after(mut self, seconds: u64) -> Self {
        self.now += Duration::from_secs(seconds);
        self
    }

    /// Gives an input and compares the action, written short.
    #[track_caller]
    fn step(mut self, input: ReflectorInput<'_>, expect: &str) -> Self {
        let shown = format!("{input:?}");
        (self.machine, self.action) = self.machine.step(input, self.now);
        assert_eq!(short(&self.action), expect, "after {shown}");
        self
    }

    #[track_caller]
    fn fail(self, error: &ListWatchError, expect: &str) -> Self {
        self.step(ReflectorInput::Failed(error), expect)
    }

    /// Gives an input, whatever comes of it.
    fn give(mut self, input: ReflectorInput<'_>) -> Self {
        (self.machine, self.action) = self.machine.step(input, self.now);
        self
    }

    fn fail_watch(self, error: &ListWatchError) -> Self {
        self.give(ReflectorInput::Failed(error))
    }

    /// Synced by a watch-list at 10 that showed one object, whose last change was 8; watching.
    fn watching() -> Self {
        Self::new()
            .step(ReflectorInput::Opened, "begin start")
            .step(event("8"), "enqueue")
            .step(all_shown("10"), "end 10")
    }

    /// In pages, the first one accepted.
    fn listing() -> Self {
        Self::new().fail(&bad_request(), "list").step(ReflectorInput::Opened, "begin start")
    }

    /// What the step before found wrong.
    #[track_caller]
    fn check_failure(self, expect: &str) -> Self {
        let failure = self.machine.failure.as_ref().map(|error| format!("{error:?}"));
        let failure = failure.unwrap_or_default();
        assert!(failure.starts_with(expect), "{failure} does not start with {expect}");
        self
    }

    fn pause(&self) -> Duration {
        match self.action {
            ReflectorAction::Wait(wait) | ReflectorAction::WaitForResource { untold: wait, .. } => {
                wait
            }
            ref other => panic!("it waits, not {other:?}"),
        }
    }

    #[track_caller]
    fn check_deadline(self, seconds: u64) -> Self {
        let deadline = self.machine.deadline().map(|at| at.duration_since(self.now).as_secs());
        assert_eq!(deadline, Some(seconds));
        self
    }
}

fn short(action: &ReflectorAction) -> String {
    match action {
        ReflectorAction::Open(ReflectorRequest::List(options)) => {
            let mut text = "list".to_owned();
            if let Some(version) = &options.not_older_than {
                text += &format!(" from {version}");
            }
            if let Some(token) = &options.continue_token {
                text += &format!(" page {token}");
            }
            if options.limit == 0 {
                text += " whole";
            }
            text
        }
        ReflectorAction::Open(ReflectorRequest::Watch(options)) => {
            let what = if options.send_initial_events { "watch-list" } else { "watch" };
            format!("{what} from {:?}", &*options.resource_version)
        }
        ReflectorAction::Begin { cause } => format!("begin {}", cause.as_str()),
        ReflectorAction::Enqueue => "enqueue".to_owned(),
        ReflectorAction::End { resource_version, whole: true } => format!("end {resource_version}"),
        ReflectorAction::End { resource_version, whole: false } => {
            format!("end {resource_version} in part")
        }
        ReflectorAction::Discover => "discover".to_owned(),
        ReflectorAction::Forget => "forget".to_owned(),
        ReflectorAction::Read => "read".to_owned(),
        ReflectorAction::Wait(_) => "wait".to_owned(),
        ReflectorAction::WaitForResource { .. } => "wait for the resource".to_owned(),
    }
}

fn bad_request() -> ListWatchError {
    ListWatchError::BadRequest { message: String::new() }
}

fn expired() -> ListWatchError {
    ListWatchError::Expired { message: String::new() }
}

fn too_large() -> ListWatchError {
    ListWatchError::TooLargeResourceVersion { message: String::new() }
}

fn transient() -> ListWatchError {
    ListWatchError::transient("")
}

fn absent() -> ListWatchError {
    ListWatchError::NotFound { message: String::new() }
}

fn forbidden() -> ListWatchError {
    ListWatchError::Forbidden { message: String::new() }
}

fn unauthorized() -> ListWatchError {
    ListWatchError::Unauthorized { message: String::new() }
}

fn unreadable() -> ListWatchError {
    ListWatchError::Unreadable { message: String::new() }
}

fn unreachable() -> ListWatchError {
    ListWatchError::Unreachable { message: String::new() }
}

fn patience(seconds: u64) -> ListWatchError {
    let retry_after = Some(Duration::from_secs(seconds));
    ListWatchError::TooManyRequests { message: String::new(), retry_after }
}

fn internal() -> ListWatchError {
    ListWatchError::Internal { message: String::new() }
}

/// A change of the one object that there is.
fn event(resource_version: &str) -> ReflectorInput<'static> {
    event_of(resource_version, "x", "")
}

/// The same change each time, made once.
fn event_once() -> ReflectorInput<'static> {
    static EVENT: std::sync::OnceLock<Object> = std::sync::OnceLock::new();
    let object = EVENT.get_or_init(|| match event("3") {
        ReflectorInput::Event { object, .. } => object.clone(),
        other => panic!("{other:?}"),
    });
    ReflectorInput::Event { object, gone: false }
}

fn event_of(resource_version: &str, uid: &str, label: &str) -> ReflectorInput<'static> {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","uid":"{uid}",
            "resourceVersion":"{resource_version}","labels":{{"is":"{label}"}}}}}}"#
    );
    let object = Object::decode(json.as_bytes(), None).expect("an object");
    // As long as the test: an input is a view.
    ReflectorInput::Event { object: Box::leak(Box::new(object)), gone: false }
}

fn malformed(known: bool) -> ReflectorInput<'static> {
    ReflectorInput::Malformed { known, message: &DecodeError::NoName }
}

/// The bookmark that ends a watch-list's initial events.
fn all_shown(resource_version: &str) -> ReflectorInput<'_> {
    ReflectorInput::Bookmark { resource_version, initial_events_end: true }
}

fn bookmark(resource_version: &str) -> ReflectorInput<'_> {
    ReflectorInput::Bookmark { resource_version, initial_events_end: false }
}

fn page_end<'a>(resource_version: &'a str, continue_token: Option<&'a str>) -> ReflectorInput<'a> {
    ReflectorInput::PageEnd { resource_version, continue_token }
}

/// Pages lead to these in turn; the next one is asked for, up to the last, after which there is a pause.
#[track_caller]
fn check_led_back(tokens: &str) {
    let mut bench = Bench::listing().step(ReflectorInput::Opened, "read");
    let (last, before) = tokens.as_bytes().split_last().expect("a token");
    for token in before {
        let token = char::from(*token).to_string();
        bench = bench
            .step(page_end("9", Some(&token)), &format!("list page {token}"))
            .step(ReflectorInput::Opened, "read");
    }
    let bench = bench.give(page_end("9", Some(&char::from(*last).to_string())));
    assert!(bench.pause() > Duration::ZERO);
    bench.check_failure("Unreadable { message: \"the list's pages lead back to one of them\"");
}

#[test]
fn pages_that_lead_back_are_no_list_without_end() {
    check_led_back("tt");
    check_led_back("tuu");
    check_led_back("tutu");
    check_led_back("tuvwuvw");
}

#[test]
fn a_watch_list_comes_first_and_goes_on_as_the_watch() {
    let bench = Bench::new();
    assert_eq!(short(&bench.action), "watch-list from \"\"");
    let bench = bench
        .step(ReflectorInput::Opened, "begin start")
        .step(event("3"), "enqueue")
        .step(bookmark("5"), "read")
        .step(all_shown("9"), "end 9")
        .step(event("11"), "enqueue")
        .step(bookmark("12"), "enqueue");
    bench.after(600).step(ReflectorInput::Ended, "watch from \"12\"").check_failure("");
}

#[test]
fn pages_follow_each_other_then_comes_the_watch() {
    Bench::listing()
        .step(event("3"), "enqueue")
        .step(page_end("9", Some("t")), "list page t")
        .step(ReflectorInput::Opened, "read")
        .step(event("4"), "enqueue")
        .step(page_end("9", None), "end 9")
        .step(ReflectorInput::Ended, "watch from \"9\"");
}

#[test]
fn an_expired_token_lists_again_from_the_beginning_and_then_without_pages() {
    Bench::listing()
        .step(page_end("9", Some("t")), "list page t")
        .fail(&expired(), "list")
        .check_failure("Expired")
        .step(ReflectorInput::Opened, "begin interrupted")
        .step(page_end("9", Some("t")), "list page t")
        .fail(&expired(), "list whole")
        .step(ReflectorInput::Opened, "begin interrupted")
        .step(page_end("9", None), "end 9");
}

#[test]
fn a_page_that_is_refused_for_now_is_asked_for_again() {
    let bench = Bench::listing().step(page_end("9", Some("t")), "list page t");
    let bench = bench.fail(&patience(40), "wait");
    assert_eq!(bench.action, ReflectorAction::Wait(Duration::from_secs(40)));
    bench.step(ReflectorInput::Elapsed, "list page t");
}

#[test]
fn a_server_that_asks_for_an_hour_is_asked_again_after_a_minute() {
    for bench in [Bench::new(), Bench::listing(), Bench::watching()] {
        let bench = bench.fail(&patience(3600), "wait").check_failure("TooManyRequests");
        assert_eq!(bench.action, ReflectorAction::Wait(Duration::from_secs(60)));
    }
}

#[test]
fn too_many_requests_never_lead_from_a_watch_list_to_pages_nor_from_a_watch_to_a_list() {
    let (mut listing, mut watching) = (Bench::new(), Bench::watching().after(600));
    watching = watching.step(ReflectorInput::Ended, "watch from \"10\"");
    for _ in 0..4 {
        let list = "watch-list from \"\"";
        listing = listing.fail(&patience(1), "wait").step(ReflectorInput::Elapsed, list);
        // It must be shown that no outage followed the refusal.
        let watch = "watch from \"7\"";
        watching = watching.fail(&patience(1), "wait").step(ReflectorInput::Elapsed, watch);
    }
}

#[test]
fn a_list_that_breaks_off_begins_again() {
    Bench::listing()
        .step(event("3"), "enqueue")
        .fail(&transient(), "wait")
        .step(ReflectorInput::Elapsed, "list")
        .step(ReflectorInput::Opened, "begin interrupted");
    let bench = Bench::listing().step(ReflectorInput::Ended, "wait").check_failure("Incomplete");
    bench.step(ReflectorInput::Elapsed, "list");
    let bench =
        Bench::listing().check_deadline(60).after(60).step(ReflectorInput::Deadline, "wait");
    bench.check_failure("Silent");
}

#[test]
fn a_page_that_trickles_gives_its_turn_up() {
    let mut bench = Bench::listing();
    for _ in 0..11 {
        bench = bench.after(50).step(event("3"), "enqueue");
    }
    bench
        .check_deadline(50)
        .after(50)
        .step(ReflectorInput::Deadline, "wait")
        .check_failure("Silent");
}

#[test]
fn a_watch_list_that_never_ends_has_a_deadline() {
    let bench = Bench::new().check_deadline(60).step(ReflectorInput::Opened, "begin start");
    let bench = bench.check_deadline(10).after(10).step(ReflectorInput::Deadline, "list");
    bench.check_failure("Silent");
    let mut bench = Bench::new().step(ReflectorInput::Opened, "begin start");
    for _ in 0..11 {
        bench = bench.after(5).step(event("3"), "enqueue");
    }
    bench.check_deadline(5).after(5).step(ReflectorInput::Deadline, "list");
    Bench::new()
        .after(60)
        .step(ReflectorInput::Deadline, "wait")
        .check_failure("Silent")
        .step(ReflectorInput::Elapsed, "watch-list from \"\"");
}

#[test]
fn a_watch_list_that_brings_a_thousand_objects_a_second_has_more_time_but_not_for_ever() {
    let mut bench = Bench::new().step(ReflectorInput::Opened, "begin start");
    for _ in 0..600 {
        bench = bench.after(1);
        for _ in 0..1000 {
            (bench.machine, bench.action) = bench.machine.step(event_once(), bench.now);
        }
        let deadline = bench.machine.deadline().expect("there is one");
        assert!(deadline > bench.now || bench.now.duration_since(bench.started).as_secs() == 600);
    }
    bench.step(ReflectorInput::Deadline, "list").check_failure("Silent");
}

/// However a watch-list fails each time: after three times pages are asked for, after half an hour it is tried again.
#[track_caller]
fn check_given_up(seconds: u64, opened: bool, failure: ReflectorInput<'_>, at_once: bool) {
    let mut bench = Bench::new();
    for try_number in 1..=3 {
        if opened {
            bench = bench.step(ReflectorInput::Opened, "begin start");
        }
        bench = bench.after(seconds);
        bench = match at_once {
            true => bench.step(failure.clone(), "list").fail(&transient(), "wait"),
            false => bench.step(failure.clone(), "wait"),
        };
        let next = if try_number < 3 { "watch-list from \"\"" } else { "list" };
        bench = bench.step(ReflectorInput::Elapsed, next);
    }
    bench
        .fail(&transient(), "wait")
        .after(1800)
        .step(ReflectorInput::Elapsed, "watch-list from \"\"");
}

#[test]
fn a_watch_list_that_fails_again_and_again_is_given_up_for_half_an_hour() {
    check_given_up(1, true, ReflectorInput::Ended, true);
    check_given_up(1, true, ReflectorInput::Failed(&transient()), false);
    check_given_up(1, true, ReflectorInput::Failed(&internal()), false);
    check_given_up(1, false, ReflectorInput::Failed(&internal()), false);
    // A proxy that holds back a stream until it ends.
    check_given_up(60, false, ReflectorInput::Deadline, false);
    check_given_up(30, false, ReflectorInput::Failed(&transient()), false);
}

#[test]
fn after_three_refused_connections_pages_are_tried_once_and_then_watch_lists_again() {
    let mut bench = Bench::new();
    for _ in 0..10 {
        for _ in 0..2 {
            bench = bench
                .fail(&transient(), "wait")
                .step(ReflectorInput::Elapsed, "watch-list from \"\"");
        }
        bench = bench.fail(&transient(), "wait").step(ReflectorInput::Elapsed, "list");
        bench =
            bench.fail(&transient(), "wait").step(ReflectorInput::Elapsed, "watch-list from \"\"");
    }
}

#[test]
fn a_server_that_never_catches_up_with_its_watch_lists_is_listed_in_pages() {
    for refusal in [too_large(), expired()] {
        let mut bench = Bench::new();
        for _ in 0..2 {
            bench =
                bench.fail(&refusal, "wait").step(ReflectorInput::Elapsed, "watch-list from \"\"");
        }
        bench.fail(&refusal, "wait").step(ReflectorInput::Elapsed, "list");
    }
}

#[test]
fn a_watch_that_ends_in_its_time_goes_on_where_it_was() {
    let bench = Bench::watching().after(600).step(ReflectorInput::Ended, "watch from \"10\"");
    let bench = bench.step(ReflectorInput::Opened, "read");
    let bench = bench.step(ReflectorInput::Ended, "wait").check_failure("Incomplete");
    bench.step(ReflectorInput::Elapsed, "watch from \"7\"");
}

#[test]
fn a_watch_that_is_answered_late_begins_again_with_the_newest_change() {
    let asked = || Bench::watching().after(600).step(ReflectorInput::Ended, "watch from \"10\"");
    asked().after(6).step(ReflectorInput::Opened, "read");
    let again = asked().after(7).step(ReflectorInput::Opened, "watch from \"7\"");
    again.after(7).step(ReflectorInput::Opened, "read").step(event("8"), "read");
    // There is nothing to repeat, and a list would help no more than this.
    let empty =
        Bench::new().step(ReflectorInput::Opened, "begin start").step(all_shown("10"), "end 10");
    let empty = empty.after(600).step(ReflectorInput::Ended, "watch from \"10\"");
    empty.after(7).step(ReflectorInput::Opened, "read");
}

#[test]
fn a_watch_that_breaks_begins_again_with_the_newest_change_and_does_not_repeat_it() {
    let watch = "watch from \"7\"";
    let broken = [
        Bench::watching().fail(&transient(), "wait").step(ReflectorInput::Elapsed, watch),
        // A server that closes watches before their time may be on its way down.
        Bench::watching().after(9).step(ReflectorInput::Ended, watch),
        Bench::watching().fail(&forbidden(), "wait").step(ReflectorInput::Elapsed, watch),
        Bench::watching().fail(&too_large(), "wait").step(ReflectorInput::Elapsed, watch),
        Bench::watching()
            .step(bookmark("10"), "enqueue")
            .check_deadline(150)
            .after(150)
            .step(ReflectorInput::Deadline, "wait")
            .check_failure("Silent")
            .step(ReflectorInput::Elapsed, watch),
    ];
    for bench in broken {
        bench
            .step(ReflectorInput::Opened, "read")
            .check_deadline(10)
            .step(event("8"), "read")
            .check_failure("")
            // What came and went between the newest change and the point that was reached.
            .step(event("9"), "read")
            .step(event("10"), "read")
            .step(event("12"), "enqueue")
            .after(600)
            .step(ReflectorInput::Ended, "watch from \"12\"");
    }
}

#[test]
fn a_watch_that_could_not_be_opened_is_tried_from_the_same_place() {
    let mut bench = Bench::watching().after(600).step(ReflectorInput::Ended, "watch from \"10\"");
    for _ in 0..5 {
        bench = bench.fail(&transient(), "wait").step(ReflectorInput::Elapsed, "watch from \"7\"");
        bench = bench.fail(&internal(), "wait").step(ReflectorInput::Elapsed, "watch from \"7\"");
    }
}

#[test]
fn without_bookmarks_a_dead_connection_is_found_when_the_watch_outlives_its_time() {
    let bench = Bench::listing().step(page_end("9", None), "end 9");
    let bench =
        bench.step(ReflectorInput::Ended, "watch from \"9\"").step(ReflectorInput::Opened, "read");
    let deadline = bench.machine.deadline().expect("there is one").duration_since(bench.now);
    let range = Duration::from_secs(300)..=Duration::from_secs(615);
    assert!(range.contains(&deadline), "{deadline:?}");
    let bench = bench.step(bookmark("9"), "enqueue").check_deadline(150);
    bench.after(140).step(event("11"), "enqueue").check_deadline(150);
}

/// A server sends no bookmark before the resourceVersion has moved on from the start of the watch.
#[test]
fn silence_of_a_watch_without_a_bookmark_is_no_failure() {
    let waits = |bench: &Bench| {
        let deadline = bench.machine.deadline().expect("there is one");
        assert!(deadline.duration_since(bench.now) >= Duration::from_secs(300));
    };
    let bench = Bench::watching();
    waits(&bench);
    let bench = bench.step(bookmark("5000"), "enqueue").check_deadline(150).after(600);
    let bench = bench.step(ReflectorInput::Ended, "watch from \"5000\"");
    let bench = bench.step(ReflectorInput::Opened, "read");
    waits(&bench);
}

#[test]
fn what_the_watch_may_have_lost_is_listed() {
    let again = "watch-list from \"\"";
    let bench = Bench::watching().fail(&expired(), "wait").check_failure("Expired");
    bench.step(ReflectorInput::Elapsed, again).step(ReflectorInput::Opened, "begin expired");
    let bench = Bench::watching().fail(&internal(), "wait").check_failure("Internal");
    bench.step(ReflectorInput::Elapsed, again).step(ReflectorInput::Opened, "begin server_error");
}

#[test]
fn the_pauses_of_an_outage_do_not_delay_the_list_after_it() {
    let outage = |mut bench: Bench| {
        for _ in 0..4 {
            bench =
                bench.fail(&transient(), "wait").step(ReflectorInput::Elapsed, "watch from \"7\"");
        }
        bench
    };
    let late = outage(Bench::watching()).after(10).fail(&expired(), "wait");
    assert!(late.pause() < Duration::from_millis(1600));
    let soon = outage(Bench::watching()).after(9).fail(&expired(), "wait");
    assert!(soon.pause() > Duration::from_secs(10), "lists in quick succession");
}

/// Invariant 8.
#[test]
fn a_server_that_sends_another_change_than_the_one_it_must_repeat_was_set_back() {
    let broken = || {
        let bench = Bench::watching().fail(&transient(), "wait");
        bench.step(ReflectorInput::Elapsed, "watch from \"7\"").step(ReflectorInput::Opened, "read")
    };
    let other_content = event_of("8", "x", "other");
    for input in [event("9"), event("11"), event_of("8", "y", ""), other_content] {
        let bench = broken().step(input, "wait").check_failure("Rewound");
        assert_eq!(bench.machine.epoch(), 1);
        let bench = bench
            .step(ReflectorInput::Elapsed, "watch-list from \"\"")
            .step(ReflectorInput::Opened, "begin rewind")
            .step(event("3"), "enqueue")
            .step(all_shown("5"), "end 5")
            .check_failure("");
        assert_eq!(bench.machine.epoch(), 1, "it is said once");
        bench
            .step(event("6"), "enqueue")
            .after(600)
            .step(ReflectorInput::Ended, "watch from \"6\"");
    }
}

#[test]
fn a_server_that_repeats_nothing_is_asked_for_everything() {
    let bench = Bench::watching().fail(&transient(), "wait");
    let bench = bench
        .step(ReflectorInput::Elapsed, "watch from \"7\"")
        .step(ReflectorInput::Opened, "read");
    // A bookmark proves nothing and does not prolong it.
    let bench = bench.after(5).step(bookmark("9"), "read").check_deadline(5).after(5);
    let bench = bench.step(ReflectorInput::Deadline, "wait").check_failure("Silent");
    let bench = bench.step(ReflectorInput::Elapsed, "watch-list from \"\"");
    let bench =
        bench.step(ReflectorInput::Opened, "begin unconfirmed").step(all_shown("10"), "end 10");
    assert_eq!(bench.machine.epoch(), 0, "it may have been slow");
}

/// Invariant 15.
#[test]
fn a_cut_of_a_quiet_resource_never_leads_to_a_list() {
    // The bookmarks have come far, and the newest change is forgotten.
    let mut bench = Bench::watching().after(100).step(bookmark("5000"), "enqueue");
    for cut in [
        ReflectorInput::Failed(&transient()),
        ReflectorInput::Ended,
        ReflectorInput::Failed(&patience(1)),
    ] {
        for opened in [false, true] {
            let (machine, action) = bench.machine.step(cut.clone(), bench.now);
            (bench.machine, bench.action) = (machine, action);
            if let ReflectorAction::Wait(wait) = bench.action {
                bench.now += wait;
                bench = bench.step(ReflectorInput::Elapsed, "watch from \"7\"");
            }
            if short(&bench.action) == "watch from \"7\"" {
                if opened {
                    bench = bench.step(ReflectorInput::Opened, "read");
                }
                bench = bench.fail(&expired(), "watch from \"5000\"").check_failure("");
            }
            bench = bench.step(ReflectorInput::Opened, "read").after(240);
        }
    }
}

/// Invariant 8.
#[test]
fn after_an_outage_what_the_server_does_not_remember_is_listed() {
    let cut = || Bench::watching().step(bookmark("5000"), "enqueue").fail(&transient(), "wait");
    let again = |bench: Bench| bench.step(ReflectorInput::Elapsed, "watch from \"7\"");
    let silent = Bench::watching().step(bookmark("5000"), "enqueue").after(150);
    let outages = [
        again(again(cut()).fail(&transient(), "wait")),
        again(cut().after(7)),
        again(silent.step(ReflectorInput::Deadline, "wait")),
    ];
    for bench in outages {
        let bench = bench.fail(&expired(), "wait").check_failure("Expired");
        bench.step(ReflectorInput::Elapsed, "watch-list from \"\"");
    }
}

#[test]
fn nothing_can_be_repeated_where_there_is_nothing() {
    let empty =
        || Bench::new().step(ReflectorInput::Opened, "begin start").step(all_shown("10"), "end 10");
    let list = "watch-list from \"\"";
    empty().after(9).step(ReflectorInput::Ended, "watch from \"10\"");
    empty().after(600).step(ReflectorInput::Ended, "watch from \"10\"");
    let bench =
        empty().after(2).fail(&transient(), "wait").after(7).step(ReflectorInput::Elapsed, "wait");
    bench.step(ReflectorInput::Elapsed, list).step(ReflectorInput::Opened, "begin unconfirmed");
    empty().after(20).fail(&transient(), "wait").after(7).step(ReflectorInput::Elapsed, list);
}

#[test]
fn cuts_of_an_empty_resource_do_not_add_up_to_an_outage() {
    let mut bench =
        Bench::new().step(ReflectorInput::Opened, "begin start").step(all_shown("10"), "end 10");
    for _ in 0..5 {
        bench = bench.after(20).fail(&transient(), "wait");
        bench = bench
            .step(ReflectorInput::Elapsed, "watch from \"10\"")
            .step(ReflectorInput::Opened, "read");
    }
}

#[test]
fn an_unreadable_first_event_after_a_cut_proves_nothing() {
    let bench = Bench::watching().fail(&transient(), "wait");
    let bench = bench
        .step(ReflectorInput::Elapsed, "watch from \"7\"")
        .step(ReflectorInput::Opened, "read");
    let bench = bench.step(malformed(false), "read").step(malformed(true), "wait");
    let bench =
        bench.check_failure("Unreadable").step(ReflectorInput::Elapsed, "watch-list from \"\"");
    let bench =
        bench.step(ReflectorInput::Opened, "begin unconfirmed").step(all_shown("10"), "end 10");
    assert_eq!(bench.machine.epoch(), 0);
}

#[test]
fn a_watch_that_is_accepted_forgives_numbers_that_were_too_large_before() {
    let watch = "watch from \"10\"";
    let mut bench = Bench::watching().after(600).step(ReflectorInput::Ended, watch);
    for _ in 0..5 {
        bench = bench.fail(&too_large(), "wait").step(ReflectorInput::Elapsed, "watch from \"7\"");
        bench = bench.step(ReflectorInput::Opened, "read").step(event("8"), "read");
        bench = bench.after(600).step(ReflectorInput::Ended, watch);
    }
}

#[test]
fn nothing_is_read_after_the_last_page() {
    let bench = Bench::listing().step(page_end("9", None), "end 9").check_deadline(0);
    bench.step(ReflectorInput::Deadline, "watch from \"9\"");
}

#[test]
fn what_the_store_shows_of_a_rewind_is_announced_with_what_the_machine_finds_as_one() {
    let relist = || {
        let bench = Bench::watching().fail(&expired(), "wait");
        let bench = bench.step(ReflectorInput::Elapsed, "watch-list from \"\"");
        bench.step(ReflectorInput::Opened, "begin expired").step(event("2"), "enqueue")
    };
    // Before the end of the list, after it, and where only the store knows.
    let mut early = relist();
    early.machine.store_was_set_back();
    let early = early.check_failure("Rewound").step(all_shown("9"), "end 9").check_failure("");
    let mut late = relist().step(all_shown("9"), "end 9").check_failure("Rewound");
    late.machine.store_was_set_back();
    let mut alone = relist().step(all_shown("12"), "end 12").check_failure("");
    alone.machine.store_was_set_back();
    alone.machine.store_was_set_back();
    for bench in [early, late, alone] {
        assert_eq!(bench.machine.epoch(), 1);
        let bench =
            bench.fail(&expired(), "wait").step(ReflectorInput::Elapsed, "watch-list from \"\"");
        let mut bench = bench.step(ReflectorInput::Opened, "begin expired");
        bench.machine.store_was_set_back();
        assert_eq!(bench.machine.epoch(), 2, "the next time is another one");
    }
}

#[test]
fn numbers_that_are_none_are_not_reckoned_with() {
    let bench =
        Bench::new().step(ReflectorInput::Opened, "begin start").step(event("a1"), "enqueue");
    let bench = bench.step(all_shown("a2"), "end a2").fail(&transient(), "wait");
    let bench = bench
        .step(ReflectorInput::Elapsed, "watch from \"a2\"")
        .step(ReflectorInput::Opened, "read");
    let bench = bench.step(event("a3"), "enqueue").fail(&transient(), "wait").after(20);
    // After an outage there is nothing that could be shown.
    bench.step(ReflectorInput::Elapsed, "watch-list from \"\"");
}

#[test]
fn a_list_that_is_behind_what_was_reached_shows_that_the_server_was_set_back() {
    let bench = Bench::watching().fail(&expired(), "wait");
    let bench = bench.step(ReflectorInput::Elapsed, "watch-list from \"\"");
    let bench = bench.step(ReflectorInput::Opened, "begin expired").step(event("2"), "enqueue");
    let bench = bench.step(all_shown("9"), "end 9").check_failure("Rewound");
    assert_eq!(bench.machine.epoch(), 1);
    let bench =
        bench.fail(&expired(), "wait").step(ReflectorInput::Elapsed, "watch-list from \"\"");
    let bench = bench.step(ReflectorInput::Opened, "begin expired").step(all_shown("9"), "end 9");
    assert_eq!(bench.check_failure("").machine.epoch(), 1);
}

#[test]
fn a_resource_version_ahead_of_the_server_is_given_up_after_some_tries() {
    let bench = Bench::watching().after(600).step(ReflectorInput::Ended, "watch from \"10\"");
    // Whoever accepts the next one may be set back: the newest change comes first.
    let watch = "watch from \"7\"";
    bench
        .fail(&too_large(), "wait")
        .step(ReflectorInput::Elapsed, watch)
        .fail(&too_large(), "wait")
        .step(ReflectorInput::Elapsed, watch)
        .fail(&too_large(), "wait")
        .step(ReflectorInput::Elapsed, "watch-list from \"\"")
        .step(ReflectorInput::Opened, "begin too_large_resource_version")
        .step(all_shown("4"), "end 4")
        .check_failure("Rewound");
    // A consistent read that is refused so must wait.
    Bench::new().fail(&too_large(), "wait").step(ReflectorInput::Elapsed, "watch-list from \"\"");
}

#[test]
fn a_lower_resource_version_does_not_lead_back() {
    Bench::watching()
        .step(event("7"), "enqueue")
        .step(bookmark("6"), "enqueue")
        .after(600)
        .step(ReflectorInput::Ended, "watch from \"10\"");
}

#[test]
fn permission_to_list_can_come_without_the_one_to_watch() {
    Bench::new()
        .fail(&forbidden(), "list")
        .step(ReflectorInput::Opened, "begin start")
        .step(event("8"), "enqueue")
        .step(page_end("9", None), "end 9")
        .step(ReflectorInput::Ended, "watch from \"9\"")
        .fail(&forbidden(), "wait")
        .check_failure("Forbidden")
        .step(ReflectorInput::Elapsed, "watch from \"7\"");
}

/// What a watch brings that brings nothing.
type Nothing = fn(Bench) -> Bench;

/// Watches that bring nothing, for an hour, while lists are answered: seconds between the lists that take their place.
fn lists_in_place_of_watches(nothing: Nothing) -> Vec<u64> {
    let bench = Bench::listing().step(event("8"), "enqueue").step(page_end("10", None), "end 10");
    let mut bench = bench.step(ReflectorInput::Ended, "watch from \"10\"");
    let (mut listed, mut lists) = (bench.now, Vec::new());
    while bench.now.duration_since(bench.started) < Duration::from_secs(3600) {
        bench = nothing(bench);
        if short(&bench.action) == "discover" {
            bench = bench.step(ReflectorInput::Served(Some(true)), "wait");
        }
        if short(&bench.action) == "wait" {
            bench.now += bench.pause();
            bench = bench.step(ReflectorInput::Elapsed, "watch from \"7\"");
        }
        if short(&bench.action) == "list" {
            lists.push(bench.now.duration_since(listed).as_secs());
            listed = bench.now;
            bench =
                bench.step(ReflectorInput::Opened, "begin unwatched").step(event("8"), "enqueue");
            bench = bench.step(page_end("10", None), "end 10");
            bench = bench.step(ReflectorInput::Ended, "watch from \"10\"");
        }
    }
    lists
}

/// However nothing comes of watches, lists take their place: not sooner than 30 s after the list before, and not much later.
#[track_caller]
fn check_unwatched(nothing: Nothing) {
    let lists = lists_in_place_of_watches(nothing);
    // At the latest: a watch that fails a moment too early, the longest pause, and one that is not answered.
    let range = UNWATCHED_LIST_INTERVAL.as_secs()..=150;
    assert!(!lists.is_empty() && lists.iter().all(|list| range.contains(list)), "{lists:?}");
}

#[test]
fn what_can_be_listed_and_not_watched_is_listed_again_at_a_bounded_rate() {
    check_unwatched(|bench| bench.fail_watch(&forbidden()));
    check_unwatched(|bench| bench.fail_watch(&unauthorized()));
    check_unwatched(|bench| bench.fail_watch(&absent()));
    // A proxy's 502, or its end of the connection.
    check_unwatched(|bench| bench.fail_watch(&transient()));
    check_unwatched(|bench| bench.fail_watch(&internal()));
    check_unwatched(|bench| bench.fail_watch(&unreadable()));
    check_unwatched(|bench| bench.after(60).give(ReflectorInput::Deadline));
}

#[test]
fn watches_that_end_as_soon_as_they_have_begun_are_no_watches() {
    check_unwatched(|bench| bench.give(ReflectorInput::Opened).give(ReflectorInput::Ended));
    check_unwatched(|bench| bench.give(ReflectorInput::Opened).fail_watch(&transient()));
    // The newest change is repeated, which says nothing of later ones.
    check_unwatched(|bench| {
        let repeats = short(&bench.action) == "watch from \"7\"";
        let bench = bench.give(ReflectorInput::Opened);
        if repeats {
            bench.give(event("8")).give(ReflectorInput::Ended)
        } else {
            bench.give(ReflectorInput::Ended)
        }
    });
    // A proxy that holds everything back.
    check_unwatched(|bench| {
        bench.give(ReflectorInput::Opened).after(5).give(ReflectorInput::Ended)
    });
}

#[test]
fn watches_that_go_on_need_no_lists() {
    let check = |nothing| assert_eq!(lists_in_place_of_watches(nothing), [0; 0]);
    // No list helps while the server is away, or asks for patience.
    check(|bench| bench.fail_watch(&unreachable()));
    check(|bench| bench.fail_watch(&patience(1)));
    // Nothing happens, for as long as a watch lasts.
    check(|bench| {
        bench.give(ReflectorInput::Opened).give(event("8")).after(600).give(ReflectorInput::Ended)
    });
}

#[test]
fn a_server_that_comes_back_is_watched_before_anything_is_listed() {
    let watch = "watch from \"7\"";
    let mut bench = Bench::watching().after(60).fail(&transient(), "wait");
    for _ in 0..4 {
        bench = bench.step(ReflectorInput::Elapsed, watch).after(20).fail(&unreachable(), "wait");
    }
    let bench = bench.step(ReflectorInput::Elapsed, watch).fail(&transient(), "wait");
    let bench = bench.step(ReflectorInput::Elapsed, watch).step(ReflectorInput::Opened, "read");
    bench.step(event("8"), "read").step(event("12"), "enqueue");
}

/// A list in place of watches is about to be answered.
fn unwatched() -> Bench {
    let bench = Bench::watching().fail(&forbidden(), "wait");
    bench.step(ReflectorInput::Elapsed, "watch from \"7\"").after(30).fail(&forbidden(), "list")
}

#[test]
fn a_list_that_fails_as_well_leads_back_to_the_watch_as_long_as_it_has_not_begun() {
    let watch = "watch from \"7\"";
    for refusal in [forbidden(), unauthorized(), transient(), internal(), unreachable()] {
        let bench = unwatched().fail(&refusal, "wait").step(ReflectorInput::Elapsed, watch);
        // The next one has its time too.
        bench.after(29).fail(&forbidden(), "wait").step(ReflectorInput::Elapsed, watch);
    }
    unwatched()
        .after(60)
        .step(ReflectorInput::Deadline, "wait")
        .step(ReflectorInput::Elapsed, watch);
    // What it showed may be newer than what was watched: only another list can tell what went between.
    for refusal in [forbidden(), transient()] {
        let bench = unwatched()
            .step(ReflectorInput::Opened, "begin unwatched")
            .step(event("15"), "enqueue");
        let bench = bench.step(page_end("20", Some("t")), "list page t").fail(&refusal, "wait");
        bench.step(ReflectorInput::Elapsed, "list");
    }
    let bench =
        unwatched().step(ReflectorInput::Opened, "begin unwatched").step(event("15"), "enqueue");
    let bench = bench.step(page_end("20", Some("t")), "list page t").fail(&expired(), "list");
    bench.fail(&transient(), "wait").step(ReflectorInput::Elapsed, "list");
}

#[test]
fn a_resource_without_watches_is_listed_again_with_growing_pauses() {
    let no_watch = ListWatchError::from_status(&Status::failure(405, "MethodNotAllowed", ""), None);
    let mut bench =
        Bench::new().fail(&no_watch, "list").step(ReflectorInput::Opened, "begin start");
    let mut longest = Duration::ZERO;
    for _ in 0..10 {
        bench = bench
            .step(page_end("9", None), "end 9")
            .step(ReflectorInput::Ended, "watch from \"9\"");
        bench = bench.fail(&no_watch, "wait");
        longest = bench.pause();
        bench = bench
            .step(ReflectorInput::Elapsed, "list")
            .step(ReflectorInput::Opened, "begin unwatched");
    }
    assert!(longest >= Duration::from_secs(30), "{longest:?}");
}

#[test]
fn a_404_to_a_watch_list_is_told_apart_from_a_missing_resource() {
    let bench = Bench::new().fail(&absent(), "list").step(ReflectorInput::Opened, "begin start");
    bench.step(page_end("9", None), "end 9");
    Bench::new().fail(&absent(), "list").fail(&absent(), "wait for the resource");
}

/// The pauses, in seconds, of `count` failures in a row.
fn pauses(error: &ListWatchError, expect: &str, count: usize) -> Vec<f64> {
    let mut bench = Bench::new();
    let mut pauses = Vec::new();
    while pauses.len() < count {
        if short(&bench.action) == "list" {
            bench = bench.fail(error, expect);
        } else {
            (bench.machine, bench.action) =
                bench.machine.step(ReflectorInput::Failed(error), bench.now);
        }
        if let ReflectorAction::Wait(_) | ReflectorAction::WaitForResource { .. } = bench.action {
            let pause = bench.pause();
            pauses.push(pause.as_secs_f64());
            bench.now += pause;
            (bench.machine, bench.action) = bench.machine.step(ReflectorInput::Elapsed, bench.now);
        }
    }
    pauses
}

#[test]
fn what_is_missing_is_looked_for_every_few_seconds_and_later_every_half_minute() {
    for (error, expect) in [(absent(), "wait for the resource"), (forbidden(), "wait")] {
        let pauses = pauses(&error, expect, 200);
        let (mut passed, mut late) = (0.0, 0);
        for pause in pauses {
            let max = if passed < 300.0 { 5.0 } else { 30.0 };
            assert!(pause <= max, "{pause} after {passed} s");
            late += usize::from(pause > 20.0);
            passed += pause;
        }
        assert!(late > 100, "they grow");
    }
}

#[test]
fn where_somebody_tells_when_a_resource_may_be_there_the_pauses_grow() {
    let mut bench = Bench::new();
    for _ in 0..10 {
        bench = bench.fail(&absent(), "list").fail(&absent(), "wait for the resource");
        bench = bench.step(ReflectorInput::Elapsed, "watch-list from \"\"");
    }
    let bench = bench.fail(&absent(), "list").fail(&absent(), "wait for the resource");
    let ReflectorAction::WaitForResource { told, .. } = bench.action else { panic!("it waits") };
    assert!(told >= Duration::from_secs(30), "{told:?}");
    // The definition is there, and the server that is asked does not serve the resource yet.
    let bench = bench.step(ReflectorInput::DefinitionTold, "watch-list from \"\"");
    let bench = bench.fail(&absent(), "list").fail(&absent(), "wait for the resource");
    let ReflectorAction::WaitForResource { told, .. } = bench.action else { panic!("it waits") };
    assert!(told <= Duration::from_secs(2), "{told:?}");
    // The resource is there and its storage is being set up.
    let bench =
        bench.step(ReflectorInput::Elapsed, "watch-list from \"\"").fail(&patience(1), "wait");
    assert!(bench.pause() <= Duration::from_secs(5), "{:?}", bench.action);
    let bench =
        bench.step(ReflectorInput::Elapsed, "watch-list from \"\"").fail(&patience(30), "wait");
    assert_eq!(
        bench.action,
        ReflectorAction::Wait(Duration::from_secs(30)),
        "the server's word counts"
    );
}

/// Invariant 13.
#[test]
fn a_resource_is_forgotten_only_if_discovery_says_so() {
    let gone = || Bench::watching().fail(&absent(), "discover").check_failure("NotFound");
    let again = "watch-list from \"\"";
    for unclear in [ReflectorInput::Served(Some(true)), ReflectorInput::Served(None)] {
        let bench =
            gone().step(unclear.clone(), "wait").step(ReflectorInput::Elapsed, "watch from \"7\"");
        // Asked again each time: what was listed is still known.
        let bench = bench.fail(&absent(), "discover").step(unclear.clone(), "wait").after(30);
        let bench = bench.step(ReflectorInput::Elapsed, "watch from \"7\"").fail(&absent(), "list");
        let bench = bench.fail(&absent(), "discover").step(unclear, "wait for the resource");
        let bench = bench
            .step(ReflectorInput::Elapsed, "list")
            .step(ReflectorInput::Opened, "begin unavailable");
        bench.step(event("12"), "enqueue").step(page_end("12", None), "end 12");
    }
    let bench = gone().step(ReflectorInput::Served(Some(false)), "forget");
    let bench = bench
        .step(ReflectorInput::Ended, "wait for the resource")
        .step(ReflectorInput::Elapsed, again);
    // There is nothing left that could be forgotten.
    let bench = bench.fail(&absent(), "list").fail(&absent(), "wait for the resource");
    let bench = bench.step(ReflectorInput::Elapsed, again);
    let bench =
        bench.step(ReflectorInput::Opened, "begin unavailable").step(all_shown("4"), "end 4");
    assert_eq!(bench.check_failure("").machine.epoch(), 0, "it is another one: no rewind");
}

#[test]
fn a_resource_that_goes_in_the_middle_of_its_first_list_is_forgotten() {
    let bench = Bench::listing().step(event("3"), "enqueue");
    let bench = bench.step(page_end("9", Some("t")), "list page t").fail(&absent(), "discover");
    let bench = bench.step(ReflectorInput::Served(Some(false)), "forget");
    let bench = bench
        .step(ReflectorInput::Ended, "wait for the resource")
        .step(ReflectorInput::Elapsed, "list");
    bench.fail(&absent(), "wait for the resource");
}

#[test]
fn what_another_machine_listed_is_forgotten_with_the_resource() {
    let bench = Bench::start(ListTweaks::default(), true).fail(&absent(), "list");
    bench.fail(&absent(), "discover").step(ReflectorInput::Served(Some(false)), "forget");
}

/// Invariant 14.
#[test]
fn an_event_that_cannot_be_read_is_followed_by_a_list() {
    let bench = Bench::watching().step(malformed(true), "read").check_failure("Unreadable");
    let bench = bench.check_deadline(10).after(4).step(event("11"), "enqueue").check_deadline(6);
    let bench = bench.after(6).step(ReflectorInput::Deadline, "watch-list from \"\"");
    let bench =
        bench.step(ReflectorInput::Opened, "begin unreadable").step(all_shown("12"), "end 12");
    let bench = bench.step(malformed(true), "read").check_deadline(20);
    // What has no name never was in the cache.
    bench.step(malformed(false), "read").check_failure("Unreadable");
    let bench = Bench::watching().step(bookmark("10"), "enqueue");
    bench.step(malformed(false), "read").check_deadline(150);
}

/// Invariant 14.
#[test]
fn a_list_with_something_unreadable_removes_nothing_and_is_made_again() {
    let in_part = [
        Bench::new()
            .step(ReflectorInput::Opened, "begin start")
            .step(malformed(true), "read")
            .check_failure("Unreadable")
            .step(all_shown("9"), "end 9 in part"),
        Bench::listing()
            .step(malformed(true), "read")
            .check_failure("Unreadable")
            .step(page_end("9", Some("t")), "list page t")
            .step(ReflectorInput::Opened, "read")
            .step(page_end("9", None), "end 9 in part")
            .step(ReflectorInput::Ended, "watch from \"9\"")
            .step(ReflectorInput::Opened, "read"),
    ];
    for bench in in_part {
        let bench = bench.check_deadline(10).after(10);
        let (machine, action) = bench.machine.step(ReflectorInput::Deadline, bench.now);
        assert!(short(&action).contains("list"), "{action:?}");
        drop(machine);
    }
    let bench =
        Bench::new().step(ReflectorInput::Opened, "begin start").step(malformed(false), "read");
    bench.step(all_shown("9"), "end 9");
}

#[test]
fn tweaks_are_in_every_request() {
    let tweaks = ListTweaks::default().page_size(7).watch_list(false);
    let tweaks = tweaks.min_watch_timeout(Duration::from_secs(1800));
    let tweaks = tweaks.parameter("shardSelector", "1/2").expect("accepted");
    let bench = Bench::with(tweaks.clone());
    let ReflectorAction::Open(ReflectorRequest::List(page)) = &bench.action else {
        panic!("it lists")
    };
    assert_eq!((page.limit, &page.parameters), (7, &tweaks.parameters()));
    let bench = bench.step(ReflectorInput::Opened, "begin start");
    let bench = bench.step(page_end("9", Some("t")), "list page t");
    let ReflectorAction::Open(ReflectorRequest::List(page)) = &bench.action else {
        panic!("it lists")
    };
    assert_eq!((page.limit, &page.parameters), (7, &tweaks.parameters()));
    let bench =
        bench.step(page_end("9", None), "end 9").step(ReflectorInput::Ended, "watch from \"9\"");
    let ReflectorAction::Open(ReflectorRequest::Watch(watch)) = &bench.action else {
        panic!("it watches")
    };
    let range = Duration::from_secs(1800)..Duration::from_secs(3600);
    assert!(range.contains(&watch.timeout) && watch.parameters == tweaks.parameters(), "{watch:?}");
}

/// Whatever comes when: no panic, and what must be answered can be.
#[test]
fn any_input_in_any_state_leads_on() {
    let errors = [
        bad_request(),
        expired(),
        too_large(),
        transient(),
        internal(),
        absent(),
        forbidden(),
        unauthorized(),
        unreachable(),
        patience(3),
    ];
    let mut random = fastrand::Rng::with_seed(7);
    let mut bench = Bench::new();
    for _ in 0..20_000 {
        let version = random.u8(0..40).to_string();
        let input = match random.u8(0..15) {
            0..3 => ReflectorInput::Opened,
            3..5 => event(&version),
            5 => bookmark(&version),
            6 => ReflectorInput::Bookmark { resource_version: &version, initial_events_end: true },
            7 => malformed(random.bool()),
            8 => page_end(&version, Some("t")),
            9 => page_end(&version, None),
            10 => ReflectorInput::Ended,
            11 => ReflectorInput::Failed(&errors[random.usize(0..errors.len())]),
            12 => ReflectorInput::Deadline,
            13 => ReflectorInput::Served(Some(random.bool())),
            _ => ReflectorInput::Elapsed,
        };
        bench.now += Duration::from_millis(random.u64(0..20_000));
        (bench.machine, bench.action) = bench.machine.step(input, bench.now);
        let waits = matches!(
            bench.action,
            ReflectorAction::Wait(_) | ReflectorAction::WaitForResource { .. }
        );
        let backing_off = matches!(bench.machine.state, ReflectorState::BackingOff { .. });
        assert!(!waits || backing_off, "a wait is remembered");
        if bench.machine.is_following() {
            assert!(bench.machine.resource_version.is_some(), "nothing is watched before a list");
        }
    }
}
