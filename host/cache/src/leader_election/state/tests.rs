use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn config() -> LeaderElectionConfig {
    LeaderElectionConfig { lease_duration: 10 * SECOND, seed: 1, ..config_of("baz") }
}

fn config_of(identity: &str) -> LeaderElectionConfig {
    LeaderElectionConfig {
        renew_deadline: 5 * SECOND,
        retry_period: SECOND,
        ..LeaderElectionConfig::new(identity)
    }
}

/// A record of that holder, with a lease of so many seconds.
fn held_by(holder: &str, seconds: u64) -> VersionedRecord {
    let record = LeaderElectionRecord {
        holder_identity: holder.to_owned(),
        lease_duration: Duration::from_secs(seconds),
        ..LeaderElectionRecord::default()
    };
    VersionedRecord { record, resource_version: format!("{holder}-{seconds}") }
}

/// The action of `baz` after the result of a get, having seen the same `seen` seconds before.
#[track_caller]
fn check(seen: Option<u64>, read: Result<VersionedRecord, LockError>, expect: &str) {
    let (mut election, first) = ElectionState::new(config());
    assert_eq!(first, ElectionAction::Get);
    let start = Instant::now();
    let wall = SystemTime::UNIX_EPOCH;
    if seen.is_some() {
        let action = election.step(ElectionInput::Read(read.clone()), start, wall);
        assert!(matches!(action, ElectionAction::Wait(_)), "{action:?}");
        assert_eq!(election.step(ElectionInput::Elapsed, start, wall), ElectionAction::Get);
    }
    let now = start + Duration::from_secs(seen.unwrap_or_default());
    let action = election.step(ElectionInput::Read(read), now, wall);
    let record = |record: &LeaderElectionRecord| {
        format!("{} {}", record.holder_identity, record.leader_transitions)
    };
    let shown = match &action {
        ElectionAction::Get => "get".to_owned(),
        ElectionAction::Create(written) => format!("create {}", record(written)),
        ElectionAction::Update(written, version) => format!("update {version} {}", record(written)),
        ElectionAction::Wait(_) => "wait".to_owned(),
        ElectionAction::Finish => "finish".to_owned(),
    };
    assert_eq!(shown, expect);
}

#[test]
fn a_missing_lease_is_created() {
    check(None, Err(LockError::NotFound), "create baz 0");
}

#[test]
fn a_lease_without_holder_is_taken_at_once() {
    let nobody = VersionedRecord { record: LeaderElectionRecord::default(), ..held_by("", 10) };
    check(None, Ok(nobody), "update -10 baz 1");
    check(None, Ok(held_by("", 10)), "update -10 baz 1");
}

#[test]
fn anothers_lease_is_left_alone_until_it_has_run_out_since_it_was_first_seen() {
    check(None, Ok(held_by("bing", 10)), "wait");
    check(Some(9), Ok(held_by("bing", 10)), "wait");
    check(Some(10), Ok(held_by("bing", 10)), "update bing-10 baz 1");
    check(Some(3_600_000), Ok(held_by("bing", 10)), "update bing-10 baz 1");
}

#[test]
fn the_lease_duration_of_the_record_counts() {
    check(Some(2), Ok(held_by("bing", 3)), "wait");
    check(Some(3), Ok(held_by("bing", 3)), "update bing-3 baz 1");
}

#[test]
fn ones_own_lease_is_renewed() {
    check(None, Ok(held_by("baz", 10)), "update baz-10 baz 0");
}

#[test]
fn an_unreachable_server_is_asked_again_later() {
    check(None, Err(LockError::Unavailable { message: String::new() }), "wait");
    check(None, Err(LockError::Refused { message: String::new() }), "wait");
}

/// An election with a manual clock.
struct Steps {
    election: ElectionState,
    start: Instant,
}

impl Steps {
    fn new() -> Self {
        Self { election: ElectionState::new(config()).0, start: Instant::now() }
    }

    fn at(&self, seconds: f64) -> Instant {
        self.start + Duration::from_secs_f64(seconds)
    }

    fn step(&mut self, seconds: f64, input: ElectionInput) -> ElectionAction {
        self.election.step(input, self.at(seconds), SystemTime::UNIX_EPOCH)
    }

    /// It wrote at `sent`, and the answer came at `answered`.
    fn leads(sent: f64, answered: f64) -> Self {
        let mut steps = Self::new();
        let create = steps.step(sent, ElectionInput::Read(Err(LockError::NotFound)));
        assert!(matches!(create, ElectionAction::Create(_)));
        steps.step(answered, ElectionInput::Written(Ok(held_by("baz", 10))));
        steps
    }

    fn valid_until(&self) -> Option<f64> {
        let term = self.election.term()?;
        Some(term.valid_until.duration_since(self.start).as_secs_f64())
    }
}

#[test]
fn a_term_is_counted_from_before_the_request() {
    let steps = Steps::leads(1.0, 3.0);
    assert_eq!(steps.valid_until(), Some(6.0));
}

#[test]
fn an_answer_that_comes_after_the_term_makes_nobody_leader() {
    assert_eq!(Steps::leads(1.0, 6.0).valid_until(), None);
}

#[test]
fn only_a_successful_renewal_moves_the_term() {
    let mut steps = Steps::leads(0.0, 0.0);
    assert!(matches!(steps.step(1.0, ElectionInput::Elapsed), ElectionAction::Update(..)));
    let unavailable = LockError::Unavailable { message: String::new() };
    steps.step(2.0, ElectionInput::Written(Err(unavailable)));
    assert_eq!(steps.valid_until(), Some(5.0));
    assert!(matches!(steps.step(3.0, ElectionInput::Elapsed), ElectionAction::Update(..)));
    steps.step(4.0, ElectionInput::Written(Ok(held_by("baz", 10))));
    assert_eq!(steps.valid_until(), Some(8.0));
    steps.step(8.0, ElectionInput::Elapsed);
    assert_eq!(steps.valid_until(), None);
}

#[test]
fn who_reads_of_another_leader_leads_no_more() {
    let mut steps = Steps::leads(0.0, 0.0);
    steps.step(1.0, ElectionInput::Elapsed);
    assert_eq!(
        steps.step(1.5, ElectionInput::Written(Err(LockError::Conflict))),
        ElectionAction::Get
    );
    assert!(steps.valid_until().is_some());
    let wait = steps.step(2.0, ElectionInput::Read(Ok(held_by("other", 10))));
    assert!(matches!(wait, ElectionAction::Wait(_)) && steps.valid_until().is_none());
}

#[test]
fn a_leader_renews_without_a_get_and_reads_only_after_a_conflict() {
    let mut steps = Steps::leads(0.0, 0.0);
    assert_eq!(steps.step(0.0, ElectionInput::Elapsed), {
        let mut again = Steps::leads(0.0, 0.0);
        again.step(0.0, ElectionInput::Elapsed)
    });
    assert_eq!(
        steps.step(0.5, ElectionInput::Written(Err(LockError::Conflict))),
        ElectionAction::Get
    );
    let update = steps.step(0.5, ElectionInput::Read(Ok(held_by("baz", 10))));
    assert!(matches!(update, ElectionAction::Update(..)));
    let wait = steps.step(0.6, ElectionInput::Written(Err(LockError::Conflict)));
    assert_eq!(
        wait,
        ElectionAction::Wait(SECOND),
        "once a round, and without jitter while it leads"
    );
}

#[test]
fn a_candidates_waits_are_spread() {
    let mut steps = Steps::new();
    let waits: Vec<Duration> = (0..50)
        .map(|_| {
            let action = steps.step(0.0, ElectionInput::Read(Ok(held_by("bing", 10))));
            assert_eq!(steps.step(0.0, ElectionInput::Elapsed), ElectionAction::Get);
            match action {
                ElectionAction::Wait(wait) => wait,
                other => panic!("{other:?} is not a wait"),
            }
        })
        .collect();
    assert!(waits.iter().all(|wait| (SECOND..SECOND.mul_f64(2.2)).contains(wait)), "{waits:?}");
    assert!(waits.iter().max() > waits.iter().min());
}

#[test]
fn who_deletes_a_lease_does_not_end_its_holders_term() {
    let mut steps = Steps::new();
    steps.step(0.0, ElectionInput::Read(Ok(held_by("bing", 10))));
    assert_eq!(steps.step(1.0, ElectionInput::Elapsed), ElectionAction::Get);
    assert!(matches!(
        steps.step(1.0, ElectionInput::Read(Err(LockError::NotFound))),
        ElectionAction::Wait(_)
    ));
    assert_eq!(steps.step(10.0, ElectionInput::Elapsed), ElectionAction::Get);
    let create = steps.step(10.0, ElectionInput::Read(Err(LockError::NotFound)));
    assert!(matches!(create, ElectionAction::Create(record) if record.leader_transitions == 1));
}

#[test]
fn whoever_cancels_leads_no_more_and_gives_the_lease_back() {
    let mut steps = Steps::leads(0.0, 0.0);
    assert_eq!(steps.step(1.0, ElectionInput::Cancelled), ElectionAction::Get);
    assert_eq!(steps.valid_until(), None);
    let ElectionAction::Update(record, _) =
        steps.step(1.0, ElectionInput::Read(Ok(held_by("baz", 10))))
    else {
        panic!("it is released");
    };
    assert_eq!((record.holder_identity, record.lease_duration), (String::new(), SECOND));
    assert_eq!(
        steps.step(1.0, ElectionInput::Written(Err(LockError::Conflict))),
        ElectionAction::Get
    );
    let update = steps.step(1.0, ElectionInput::Read(Ok(held_by("baz", 10))));
    assert!(matches!(update, ElectionAction::Update(..)));
    assert_eq!(steps.step(1.1, ElectionInput::Written(Ok(held_by("", 1)))), ElectionAction::Finish);
}

#[test]
fn a_release_ends_at_the_renew_deadline() {
    let mut steps = Steps::leads(0.0, 0.0);
    steps.step(1.0, ElectionInput::Cancelled);
    let unavailable =
        || ElectionInput::Read(Err(LockError::Unavailable { message: String::new() }));
    assert_eq!(steps.step(2.0, unavailable()), ElectionAction::Wait(SECOND));
    assert_eq!(steps.step(3.0, ElectionInput::Elapsed), ElectionAction::Get);
    assert_eq!(steps.step(5.5, unavailable()), ElectionAction::Wait(SECOND / 2));
    assert_eq!(steps.step(6.0, ElectionInput::Elapsed), ElectionAction::Finish);
    assert_eq!(steps.step(7.0, ElectionInput::Elapsed), ElectionAction::Finish);
}

#[test]
fn nobody_releases_what_another_holds() {
    let mut steps = Steps::new();
    steps.step(0.0, ElectionInput::Read(Ok(held_by("bing", 10))));
    assert_eq!(steps.step(1.0, ElectionInput::Cancelled), ElectionAction::Finish);
    let mut steps = Steps::leads(0.0, 0.0);
    assert_eq!(steps.step(1.0, ElectionInput::Cancelled), ElectionAction::Get);
    assert_eq!(
        steps.step(1.0, ElectionInput::Read(Ok(held_by("bing", 10)))),
        ElectionAction::Finish
    );
}
