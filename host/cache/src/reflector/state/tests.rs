//! The machine alone: inputs in, actions out, time by hand.

use super::*;

struct Bench {
    machine: Machine,
    action: Action,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        Self::with(ListTweaks::default())
    }

    fn with(tweaks: ListTweaks) -> Self {
        let now = Instant::now();
        let (machine, action) = Machine::start(tweaks, 1, now);
        Self { machine, action, now }
    }

    fn after(mut self, seconds: u64) -> Self {
        self.now += Duration::from_secs(seconds);
        self
    }

    /// Gives an input and compares the action, written short.
    #[track_caller]
    fn step(mut self, input: Input<'_>, expect: &str) -> Self {
        let shown = format!("{input:?}");
        (self.machine, self.action) = self.machine.step(input, self.now);
        assert_eq!(short(&self.action), expect, "after {shown}");
        self
    }

    #[track_caller]
    fn fail(self, error: &ListWatchError, expect: &str) -> Self {
        self.step(Input::Failed(error), expect)
    }

    /// Synced by a watch-list at 10, watching.
    fn watching() -> Self {
        let end = Input::Bookmark { resource_version: "10", initial_events_end: true };
        Self::new().step(Input::Opened, "begin consistent start").step(end, "end 10")
    }

    /// In pages, the first one accepted.
    fn listing() -> Self {
        Self::new().fail(&bad_request(), "list").step(Input::Opened, "begin consistent start")
    }

    #[track_caller]
    fn check_deadline(self, seconds: u64) -> Self {
        let deadline = self.machine.deadline().map(|at| at.duration_since(self.now).as_secs());
        assert_eq!(deadline, Some(seconds));
        self
    }
}

fn short(action: &Action) -> String {
    match action {
        Action::Open(Request::List(options)) => {
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
        Action::Open(Request::Watch(options)) => {
            let what = if options.send_initial_events { "watch-list" } else { "watch" };
            format!("{what} from {:?}", &*options.resource_version)
        }
        Action::Begin { consistent: true, cause } => format!("begin consistent {}", cause.as_str()),
        Action::Begin { consistent: false, cause } => format!("begin {}", cause.as_str()),
        Action::Enqueue => "enqueue".to_owned(),
        Action::End { resource_version } => format!("end {resource_version}"),
        Action::Read => "read".to_owned(),
        Action::Wait(_) => "wait".to_owned(),
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

fn internal() -> ListWatchError {
    ListWatchError::Internal { message: String::new() }
}

fn event(resource_version: &str) -> Input<'_> {
    Input::Event { resource_version }
}

fn bookmark(resource_version: &str) -> Input<'_> {
    Input::Bookmark { resource_version, initial_events_end: false }
}

fn page_end<'a>(resource_version: &'a str, continue_token: Option<&'a str>) -> Input<'a> {
    Input::PageEnd { resource_version, continue_token }
}

#[test]
fn a_watch_list_comes_first_and_goes_on_as_the_watch() {
    let bench = Bench::new();
    assert_eq!(short(&bench.action), "watch-list from \"\"");
    let bench = bench
        .step(Input::Opened, "begin consistent start")
        .step(event("3"), "enqueue")
        .step(bookmark("5"), "read")
        .step(Input::Bookmark { resource_version: "9", initial_events_end: true }, "end 9")
        .step(event("11"), "enqueue")
        .step(bookmark("12"), "enqueue");
    bench.after(5).step(Input::Ended, "watch from \"12\"");
}

#[test]
fn pages_follow_each_other_then_comes_the_watch() {
    Bench::listing()
        .step(event("3"), "enqueue")
        .step(page_end("9", Some("t")), "list page t")
        .step(Input::Opened, "read")
        .step(event("4"), "enqueue")
        .step(page_end("9", None), "end 9")
        .step(Input::Ended, "watch from \"9\"");
}

#[test]
fn an_expired_token_lists_again_from_the_beginning_and_then_without_pages() {
    Bench::listing()
        .step(page_end("9", Some("t")), "list page t")
        .fail(&expired(), "list")
        .step(Input::Opened, "begin consistent start")
        .step(page_end("9", Some("t")), "list page t")
        .fail(&expired(), "list whole");
}

#[test]
fn a_page_that_is_refused_for_now_is_asked_for_again() {
    let patience = ListWatchError::TooManyRequests {
        message: String::new(),
        retry_after: Some(Duration::from_secs(40)),
    };
    let bench =
        Bench::listing().step(page_end("9", Some("t")), "list page t").fail(&patience, "wait");
    assert_eq!(bench.action, Action::Wait(Duration::from_secs(40)));
    bench.step(Input::Elapsed, "list page t");
}

#[test]
fn a_list_that_breaks_off_begins_again() {
    Bench::listing()
        .step(event("3"), "enqueue")
        .fail(&transient(), "wait")
        .step(Input::Elapsed, "list")
        .step(Input::Opened, "begin consistent start");
    Bench::listing().step(Input::Ended, "wait").step(Input::Elapsed, "list");
    Bench::listing().check_deadline(60).after(60).step(Input::Deadline, "wait");
}

#[test]
fn a_watch_list_that_never_ends_has_a_deadline() {
    let bench = Bench::new().check_deadline(60).step(Input::Opened, "begin consistent start");
    bench.check_deadline(10).after(10).step(Input::Deadline, "list");
    let mut bench = Bench::new().step(Input::Opened, "begin consistent start");
    for _ in 0..11 {
        bench = bench.after(5).step(event("3"), "enqueue");
    }
    bench.check_deadline(5).after(5).step(Input::Deadline, "list");
    Bench::new()
        .after(60)
        .step(Input::Deadline, "wait")
        .step(Input::Elapsed, "watch-list from \"\"");
}

#[test]
fn a_stream_cut_before_its_end_bookmark_counts_against_watch_lists() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        bench = bench
            .step(Input::Opened, "begin consistent start")
            .step(Input::Ended, "list")
            .fail(&transient(), "wait");
        let list = matches!(bench.machine.watch_list, WatchList::Unusable { .. });
        let expect = if list { "list" } else { "watch-list from \"\"" };
        bench = bench.step(Input::Elapsed, expect);
    }
    assert_eq!(short(&bench.action), "list");
    bench.fail(&transient(), "wait").after(1800).step(Input::Elapsed, "watch-list from \"\"");
}

#[test]
fn a_watch_that_fails_goes_on_where_it_was() {
    let watch = "watch from \"10\"";
    Bench::watching().fail(&transient(), "wait").step(Input::Elapsed, watch);
    Bench::watching().after(9).step(Input::Ended, watch);
    let bench = Bench::watching().after(9).step(Input::Ended, watch).step(Input::Opened, "read");
    bench.step(Input::Ended, "wait").step(Input::Elapsed, watch);
    let bench = Bench::watching().after(9).step(Input::Ended, watch);
    bench.fail(&internal(), "wait").step(Input::Elapsed, watch);
    let bench = Bench::watching().step(bookmark("10"), "enqueue");
    bench.check_deadline(150).after(150).step(Input::Deadline, "wait").step(Input::Elapsed, watch);
}

#[test]
fn what_the_watch_may_have_lost_is_listed() {
    let again = "watch-list from \"10\"";
    Bench::watching()
        .fail(&expired(), "wait")
        .step(Input::Elapsed, again)
        .step(Input::Opened, "begin expired");
    Bench::watching()
        .fail(&internal(), "wait")
        .step(Input::Elapsed, again)
        .step(Input::Opened, "begin server_error");
}

#[test]
fn the_pauses_of_an_outage_do_not_delay_the_list_after_it() {
    let pause = |bench: Bench| match bench.action {
        Action::Wait(wait) => wait,
        other => panic!("it waits, not {other:?}"),
    };
    let watch = "watch from \"10\"";
    let outage = |mut bench: Bench| {
        for _ in 0..4 {
            bench = bench.fail(&transient(), "wait").step(Input::Elapsed, watch);
        }
        bench
    };
    let late = outage(Bench::watching()).after(10).fail(&expired(), "wait");
    assert!(pause(late) < Duration::from_millis(1600));
    let soon = outage(Bench::watching()).after(9).fail(&expired(), "wait");
    assert!(pause(soon) > Duration::from_secs(10), "lists in quick succession");
}

#[test]
fn a_resource_version_ahead_of_the_server_is_given_up_after_some_tries() {
    Bench::watching()
        .fail(&too_large(), "wait")
        .step(Input::Elapsed, "watch from \"10\"")
        .fail(&too_large(), "wait")
        .step(Input::Elapsed, "watch from \"10\"")
        .fail(&too_large(), "wait")
        .step(Input::Elapsed, "watch-list from \"\"")
        .step(Input::Opened, "begin consistent too_large_resource_version");
    Bench::watching()
        .fail(&expired(), "wait")
        .step(Input::Elapsed, "watch-list from \"10\"")
        .fail(&too_large(), "watch-list from \"\"")
        .fail(&too_large(), "wait");
}

#[test]
fn a_lower_resource_version_does_not_lead_back() {
    Bench::watching()
        .step(event("7"), "enqueue")
        .step(event(""), "enqueue")
        .after(2)
        .step(Input::Ended, "watch from \"10\"");
}

#[test]
fn permission_to_list_can_come_without_the_one_to_watch() {
    let forbidden = ListWatchError::Forbidden { message: String::new() };
    Bench::new()
        .fail(&forbidden, "list")
        .step(Input::Opened, "begin consistent start")
        .step(page_end("9", None), "end 9")
        .step(Input::Ended, "watch from \"9\"")
        .fail(&forbidden, "wait")
        .step(Input::Elapsed, "watch from \"9\"");
}

#[test]
fn an_absent_resource_is_looked_for_every_few_seconds() {
    let absent = ListWatchError::NotFound { message: String::new() };
    let mut bench = Bench::new();
    for _ in 0..10 {
        bench = bench.fail(&absent, "wait");
        let Action::Wait(wait) = bench.action else { panic!("it waits") };
        assert!(wait <= Duration::from_secs(5), "{wait:?}");
        bench = bench.step(Input::Elapsed, "watch-list from \"\"");
    }
    // The resource is there and its storage is being set up.
    let patience = |seconds| ListWatchError::TooManyRequests {
        message: String::new(),
        retry_after: Some(Duration::from_secs(seconds)),
    };
    let bench = bench.fail(&patience(1), "wait");
    assert_eq!(bench.action, Action::Wait(Duration::from_secs(5)));
    let bench = bench.step(Input::Elapsed, "watch-list from \"\"").fail(&patience(30), "wait");
    assert_eq!(bench.action, Action::Wait(Duration::from_secs(30)), "the server's word counts");
}

#[test]
fn tweaks_are_in_every_request() {
    let tweaks = ListTweaks::default().page_size(7).watch_list(false);
    let tweaks = tweaks.min_watch_timeout(Duration::from_secs(1800));
    let tweaks = tweaks.parameter("shardSelector", "1/2").expect("accepted");
    let bench = Bench::with(tweaks.clone());
    let Action::Open(Request::List(page)) = &bench.action else { panic!("it lists") };
    assert_eq!((page.limit, &page.parameters), (7, &tweaks.parameters()));
    let bench = bench.step(Input::Opened, "begin consistent start");
    let bench = bench.step(page_end("9", Some("t")), "list page t");
    let Action::Open(Request::List(page)) = &bench.action else { panic!("it lists") };
    assert_eq!((page.limit, &page.parameters), (7, &tweaks.parameters()));
    let bench = bench.step(page_end("9", None), "end 9").step(Input::Ended, "watch from \"9\"");
    let Action::Open(Request::Watch(watch)) = &bench.action else { panic!("it watches") };
    let range = Duration::from_secs(1800)..Duration::from_secs(3600);
    assert!(range.contains(&watch.timeout) && watch.parameters == tweaks.parameters(), "{watch:?}");
}

/// Whatever comes when: no panic, and what must be answered can be.
#[test]
fn any_input_in_any_state_leads_on() {
    let errors = [bad_request(), expired(), too_large(), transient(), internal()];
    let mut random = fastrand::Rng::with_seed(7);
    let mut bench = Bench::new();
    for _ in 0..20_000 {
        let version = random.u8(0..40).to_string();
        let input = match random.u8(0..14) {
            0..3 => Input::Opened,
            3..5 => event(&version),
            5 => bookmark(&version),
            6 => Input::Bookmark { resource_version: &version, initial_events_end: true },
            7 => Input::Malformed,
            8 => page_end(&version, Some("t")),
            9 => page_end(&version, None),
            10 => Input::Ended,
            11 => Input::Failed(&errors[random.usize(0..errors.len())]),
            12 => Input::Deadline,
            _ => Input::Elapsed,
        };
        bench.now += Duration::from_millis(random.u64(0..20_000));
        (bench.machine, bench.action) = bench.machine.step(input, bench.now);
        let waits = matches!(bench.action, Action::Wait(_));
        let backing_off = matches!(bench.machine.state, State::BackingOff { .. });
        assert!(!waits || backing_off, "a wait is remembered");
        if let State::Watching { opened: true, .. } = bench.machine.state {
            assert!(bench.machine.resource_version.is_some(), "nothing is watched before a list");
        }
    }
}
