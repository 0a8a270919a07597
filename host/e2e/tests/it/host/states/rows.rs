//! The matrix: every state of every kind of plugin, with its expected output.

use super::row::Step::{Beside, NoFileBeside, Pause, Replace, Resume};
use super::row::{Kind, ON_EVENTS, Row, Shown, is, row};

/// There are five of these objects.
pub const FINE: &str = "v1/configmaps";
const FORBIDDEN: &str = "v1/services";
const ABSENT: &str = "late.example.com/v1/widgets";
const MISSPELT: &str = "v1/configmap";
/// There are many of these objects, which are created later.
pub const MANY: &str = "v1/pods";

const HANDLER: &[Kind] = &[Kind::Handler];
const CONTROLLER: &[Kind] = &[Kind::Controller];
const TIMER: &[Kind] = &[Kind::Timer];

const TRIPPED: &str = "instances ended one after another | had failed was tried again";
const PAUSED: &str = "paused until `informant plugin resume ";

fn fine() -> Shown {
    is("running").and(&[
        "list WAITING = 0",
        "list {CALLS} > 0",
        "json {ok} > 0",
        "metric {calls}_total{result=\"ok\"} > 0",
        "metric load_refused = 0",
    ])
}

/// Plugins that exist when the host starts.
pub fn first() -> Vec<Row> {
    let waiting = |why| is("running").because(why).informer("waiting").and(&["list WAITING = 0"]);
    vec![
        row("fine", "mood: fine").shows(fine()),
        row("waiting", "mood: fine")
            .watching(ABSENT)
            .shows(waiting(&["late.example.com/v1/widgets is waiting ("]))
            .once(
                Pause,
                is("paused")
                    .because(&[PAUSED, "late.example.com/v1/widgets is waiting ("])
                    .informer("waiting"),
            ),
        row("misspelt", "mood: fine")
            .watching(MISSPELT)
            .shows(waiting(&["v1/configmap is waiting ( … did you mean v1/configmaps?"])),
        row("forbidden", "mood: fine")
            .watching(FORBIDDEN)
            .shows(
                is("running")
                    .because(&["v1/services is forbidden ("])
                    .informer("forbidden")
                    .and(&["list WAITING = 0"]),
            )
            .once(
                Pause,
                is("paused").because(&[PAUSED, "v1/services is forbidden ("]).informer("forbidden"),
            ),
    ]
}

/// Plugins that are added while the host runs. One acts as this service account.
pub fn later(account: &str) -> Vec<Row> {
    let mut rows = not_loaded();
    rows.extend(failing());
    rows.extend(slow());
    rows.push(
        row("refused", "mood: fine").beside(format!("serviceAccount: {account}")).shows(
            is("running")
                .because(&["v1/configmaps in  … by the service account  … may not be "])
                .and(&["metric refused_reads = 1", "json /serviceAccount/refused = 1"]),
        ),
    );
    rows
}

/// Versions that do not run, and files that are not read.
fn not_loaded() -> Vec<Row> {
    let refused = ["metric load_refused = 1", "list WAITING = 0"];
    let refused_beside_a_good_one = ["metric load_refused = 1", "json /lastLoad/result = failed"];
    vec![
        row("asking", "mood: asks").shows(
            is("waiting").because(&["it asks to patch v1/configmaps … not granted"]).and(&refused),
        ),
        row("not-started", "mood: does-not-start")
            .shows(is("stopped").because(&["start failed … too bad to start"]).and(&refused))
            .once(Pause, is("paused").because(&[PAUSED, "start failed … too bad to start"])),
        row("not-in-force", "mood: fine")
            .beside("writes: [{resources: [v1/pods], verbs: [patch]}]")
            .shows(is("running").because(&["not in force: writes (patch of v1/pods)"])),
        row("replaced", "mood: fine").shows(fine()).once(
            Replace("#!/bin/sh"),
            is("running")
                .because(&["new version not loaded: not a WebAssembly file"])
                .and(&refused_beside_a_good_one),
        ),
        row("misconfigured", "mood: fine").shows(fine()).once(
            Beside("limits: {memory: lots}"),
            is("running")
                .because(&["new version not loaded:  … memory"])
                .and(&refused_beside_a_good_one),
        ),
        row("unread", "mood: fine").shows(fine()).once(
            NoFileBeside,
            is("running").because(&["-unread.yaml is a directory and no file"]),
        ),
        row("paused", "mood: fine")
            .shows(fine())
            .once(Pause, is("paused").because(&[PAUSED]))
            .once(Resume, fine()),
    ]
}

/// Plugins whose calls fail.
fn failing() -> Vec<Row> {
    let retried = |mood: &'static str| {
        let shown = is("running").and(&[
            "json {failed} > 0",
            "metric {calls}_total{result=\"retry\"} > 0",
            "list RETRIED > 0",
        ]);
        (row("retried", mood), shown)
    };
    let (on_events, shown) = retried("mood: fails");
    let (timer, timer_shown) = retried("mood: fails, every: 4000");
    let given_up = |shown: Shown| shown.and(&["metric {calls}_total{result=\"dead\"} > 0"]);
    vec![
        on_events
            .of(ON_EVENTS)
            .shows(shown.because(&["5  … {failing} … the mood is bad, "]))
            .once(Pause, is("paused").because(&[PAUSED, "5  … {failing} … the mood is bad, "])),
        timer
            .of(TIMER)
            .shows(
                timer_shown
                    .because(&["1 {failing}tick-0:  … the mood is bad, tick-0"])
                    .and(&["json /schedules/0/error has the mood is bad, tick-0"]),
            )
            .once(
                Pause,
                is("paused").because(&[PAUSED, "1 {failing}tick-0:  … the mood is bad, tick-0"]),
            ),
        row("given-up", "mood: gives-up")
            .of(HANDLER)
            .shows(
                given_up(is("running"))
                    .because(&["5 dead letters:  … the mood is bad, "])
                    .letters(5)
                    .and(&["list WAITING = 0", "metric events_total{result=\"dead\"} = 5"]),
            )
            .once(
                Pause,
                is("paused").because(&[PAUSED, "5 dead letters:  … the mood is bad, "]).letters(5),
            ),
        row("given-up", "mood: gives-up")
            .of(CONTROLLER)
            .shows(
                given_up(is("running"))
                    .because(&["5 keys given up:  … the mood is bad, "])
                    .and(&["json /workqueue/givenUp = 5", "list WAITING = 0"]),
            )
            .once(Pause, is("paused").because(&[PAUSED, "5 keys given up:  … the mood is bad, "])),
        row("given-up", "mood: gives-up, every: 4000").of(TIMER).shows(
            given_up(is("running")).because(&["1 {failing}tick-0:  … the mood is bad, tick-0"]),
        ),
        row("lost", "mood: traps, startTime: 3000").shows(
            is("backing-off").because(&["the mood is bad, ", "{failing} … the mood is bad, "]),
        ),
        row("tripped", "mood: traps")
            .shows(
                is("tripped")
                    .because(&[TRIPPED, "{failing} … the mood is bad, "])
                    .and(&["metric trips_total > 0"]),
            )
            .once(Pause, is("paused").because(&[PAUSED, TRIPPED, "{failing} … the mood is bad, "])),
        row("unsynced", "mood: fails-to-sync").of(ON_EVENTS).shows(
            is("running")
                .because(&[
                    "synced of v1/configmaps failed and comes again:  … the mood is bad, synced",
                ])
                .and(&["json {ok} > 0", "metric failed_syncs = 1"]),
        ),
    ]
}

/// Plugins with more work than they can or may do.
fn slow() -> Vec<Row> {
    let behind =
        || is("running").and(&["list WAITING > 0", "json {waiting} > 0", "metric {age} > 9"]);
    let waiting = || is("paused").because(&[PAUSED]).and(&["list WAITING > 0", "metric {age} > 9"]);
    vec![
        row("behind", "mood: slow")
            .watching(MANY)
            .of(HANDLER)
            .shows(behind().because(&["behind by  … events to go"]))
            .once(Pause, waiting()),
        row("behind", "mood: slow")
            .watching(MANY)
            .of(CONTROLLER)
            .shows(behind().because(&["behind by  … keys to go"]))
            .once(Pause, waiting()),
        // All schedules are due at once, and each call takes half a second.
        row("behind", "mood: slow, schedules: 40")
            .of(TIMER)
            .shows(behind().because(&["behind by  … schedules to go"]))
            .once(Pause, waiting()),
        row("limited", "mood: fine")
            .watching(MANY)
            .of(HANDLER)
            .beside("rateLimit: {eventsPerSecond: 1, burst: 1}")
            .shows(
                behind()
                    .because(&["behind by  … (rateLimit), with  … events to go"])
                    .and(&["metric rate_limited = 1", "json /queue/isRateLimited = 1"]),
            ),
        // Events that wait because of a breaker do not count as a slow plugin.
        row("tripped-behind", "mood: traps").watching(MANY).of(ON_EVENTS).shows(
            is("tripped")
                .because(&[TRIPPED, "{failing} … the mood is bad, "])
                .and(&["list WAITING > 9", "json {waiting} > 9"]),
        ),
    ]
}

/// The expected output for some plugins while the API server is away.
pub fn away() -> Vec<Row> {
    const STALE: &str = "v1/configmaps is stale (";
    let stale = |state| is(state).informer("stale");
    vec![
        row("fine", "").shows(stale("running").because(&[STALE])),
        row("paused", "")
            .shows(stale("running").because(&[STALE]))
            .once(Pause, stale("paused").because(&[PAUSED, STALE])),
        row("tripped", "").shows(stale("paused").because(&[
            PAUSED,
            TRIPPED,
            STALE,
            "{failing} … the mood is bad, ",
        ])),
        row("given-up", "").of(HANDLER).shows(
            stale("paused")
                .because(&[PAUSED, STALE, "5 dead letters:  … the mood is bad, "])
                .letters(5),
        ),
        row("given-up", "").of(CONTROLLER).shows(stale("paused").because(&[
            PAUSED,
            STALE,
            "5 keys given up:  … the mood is bad, ",
        ])),
        row("not-in-force", "").shows(stale("running").because(&["not in force: writes", STALE])),
        row("replaced", "").shows(stale("running").because(&["new version not loaded: ", STALE])),
    ]
}
