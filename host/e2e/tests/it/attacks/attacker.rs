//! The plugin that makes the tries, and the check of each result.

use crate::bench::labelled_pod;
use crate::host::bench::{CONFIGURATION_HEAD, HostBench, LINES_DEADLINE, SECRET};
use informant_e2e::host::{Host, Line};
use serde_json::{Value, json};

/// The name of the plugin and of its test guest.
pub const ATTACKER: &str = "attacker";

/// The marks in data that the attacker must not see: as text and as base64.
const MARKS: [&str; 2] = ["xyzzy", SECRET];

/// One try.
pub struct Try {
    name: &'static str,
    call: Value,
    expect: Expect,
}

enum Expect {
    /// A refusal with this text.
    Refused(&'static str),
    /// This answer.
    Answered(&'static str),
    /// Any result without the mark.
    Harmless,
}

/// The call is refused, and the attacker gets this text.
pub fn refused(name: &'static str, call: Value, words: &'static str) -> Try {
    Try { name, call, expect: Expect::Refused(words) }
}

/// The call gets exactly this answer.
pub fn answered(name: &'static str, call: Value, answer: &'static str) -> Try {
    Try { name, call, expect: Expect::Answered(answer) }
}

/// Any result is accepted that does not contain the mark.
pub fn harmless(name: &'static str, call: Value) -> Try {
    Try { name, call, expect: Expect::Harmless }
}

/// A try among the `early` ones of the attacker's configuration. It is refused with this text.
pub fn told(name: &'static str, words: &'static str) -> Try {
    refused(name, Value::Null, words)
}

/// Starts a host in which the attacker has these settings, beside other plugins' settings, and checks the result of
/// each try.
pub async fn check(
    bench: &HostBench<'_>,
    settings: Value,
    mut others: Value,
    tries: &[Try],
) -> (Host, tempfile::TempDir) {
    others[ATTACKER] = settings;
    check_on(bench, json!({"plugins": others}), tries).await
}

/// The same if the host's own file has no settings for the attacker, and `ceiling` bounds the files beside plugins.
pub async fn check_below(bench: &HostBench<'_>, ceiling: Value, tries: &[Try]) {
    check_on(bench, json!({"plugins": {ATTACKER: {}}, "ceiling": ceiling}), tries).await;
}

async fn check_on(
    bench: &HostBench<'_>,
    mut own: Value,
    tries: &[Try],
) -> (Host, tempfile::TempDir) {
    let calls = tries.iter().filter(|one| one.call.is_object()).map(|one| {
        let mut call = one.call.clone();
        call["name"] = one.name.into();
        call
    });
    own["plugins"][ATTACKER]["config"]["tries"] = calls.collect();
    let (directory, own) = configuration(&own);
    bench.drop_plugin(ATTACKER, ATTACKER);
    let more = ["--config", &own, "--metrics-bind-address", "127.0.0.1:0"];
    let host = bench.start(&more).await;
    let pod = labelled_pod(ATTACKER, &[("app", "mine")]);
    bench.api.create(&bench.pods(), &pod).await.expect(201);
    let last = format!("tried everything on {}/{ATTACKER}", bench.namespace);
    let done = |line: &Line| line.message() == last && line.field("plugin") == Some(ATTACKER);
    host.await_line("everything to be tried", LINES_DEADLINE, done).await.unwrap();
    let lines = host.lines_of(ATTACKER);
    let wrong: Vec<String> = tries.iter().filter_map(|one| one.complaint(&lines)).collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    let plugin = host.plugin(ATTACKER).expect("it is there");
    assert_eq!(plugin["counters"]["restarts"], json!({}), "no try ends its instance: {plugin}");
    (host, directory)
}

/// A host's own file with these members, and its path. JSON is also YAML.
pub fn configuration(members: &Value) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let own = directory.path().join("informant.yaml");
    let members = members.as_object().expect("they are an object").iter();
    let lines: String = members.map(|(name, value)| format!("{name}: {value}\n")).collect();
    let text = plain(&format!("{CONFIGURATION_HEAD}HostConfiguration\n{lines}"));
    std::fs::write(&own, text).expect("a file");
    (directory, own.display().to_string())
}

/// Escapes characters that JSON leaves unescaped and YAML requires to be escaped.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for one in text.chars() {
        match one {
            ' '..='~' | '\n' => plain.push(one),
            _ => {
                let units = one.encode_utf16(&mut [0; 2]).to_vec();
                plain.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    plain
}

impl Try {
    /// The complaint about the result, if it is wrong.
    fn complaint(&self, lines: &[Line]) -> Option<String> {
        let begin = format!("tried {}: ", self.name);
        let outcomes: Vec<&str> =
            lines.iter().filter_map(|line| line.message().strip_prefix(&begin)).collect();
        let [.., outcome] = outcomes[..] else {
            return Some(format!("{} was not tried", self.name));
        };
        let (refusal, answer) =
            (outcome.strip_prefix("refused: "), outcome.strip_prefix("answered: "));
        let shows = answer.is_some_and(|it| MARKS.iter().any(|mark| it.contains(mark)));
        let is_well = !shows
            && match self.expect {
                Expect::Refused(words) => refusal.is_some_and(|text| text.contains(words)),
                Expect::Answered(expect) => answer == Some(expect),
                Expect::Harmless => true,
            };
        (!is_well).then(|| format!("{}: {outcome}", self.name))
    }
}

#[test]
fn an_outcome_is_held_against_what_is_expected() {
    let line = |text: &str| Line::of(&json!({"message": text}).to_string());
    let check = |one: Try, said: &str, is_well: bool| {
        assert_eq!(one.complaint(&[line(said)]).is_none(), is_well, "{said}");
    };
    let call = || json!({});
    check(refused("a", call(), "no"), "tried a: refused: no such thing", true);
    check(refused("a", call(), "no"), "tried a: refused: yes", false);
    check(refused("a", call(), "no"), "tried a: answered: no", false);
    check(refused("a", call(), "no"), "tried b: refused: no", false);
    check(answered("a", call(), "1"), "tried a: answered: 1", true);
    check(answered("a", call(), "1"), "tried a: answered: 12", false);
    check(harmless("a", call()), "tried a: answered: {}", true);
    check(harmless("a", call()), "tried a: refused: xyzzy", true);
    check(harmless("a", call()), "tried a: answered: xyzzy", false);
}
