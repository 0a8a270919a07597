//! The examples in the help of each command.

use super::Args;
use clap::{Command, CommandFactory as _, FromArgMatches as _};
use std::fmt::Write as _;

/// A command line without the program's name, and its purpose.
type Example = (&'static str, &'static str);

/// The examples by command. The program accepts each of these lines.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "run",
        &[
            ("run", "kubectl's cluster, the plugins of ./plugins"),
            (
                "run --plugins /plugins --config informant.yaml --state-dir /state",
                "as in a Deployment",
            ),
            ("run --leader-elect", "one of several hosts"),
            (
                "run --metrics-bind-address 0.0.0.0:8889",
                "probes and metrics for others, the HTTP API on loopback",
            ),
        ],
    ),
    (
        "dev",
        &[
            ("dev .", "the project that you are in, again after every save"),
            ("dev ./plugins", "the files and projects of a folder"),
            ("dev . --grant-all", "with all that the plugin asks for"),
            ("dev . --context staging", "with a real cluster"),
        ],
    ),
    (
        "cluster",
        &[("cluster --traffic 2", "then: kubectl --kubeconfig informant.kubeconfig get pods -A")],
    ),
    (
        "replay",
        &[
            (
                "replay recordings/hello-20260301T120000.500Z-1.rec hello.wasm",
                "plays the recordings of `run --record recordings`",
            ),
            (
                "replay hello.rec build/hello.wasm --golden hello.golden",
                "fails where it is not as kept",
            ),
        ],
    ),
    (
        "rbac",
        &[
            ("rbac plugins", "to be piped into kubectl apply -f -"),
            (
                "rbac plugins --leader-elect --namespace informant",
                "for hosts in that namespace that elect a leader",
            ),
            ("rbac plugins --resource apps/v1/deployments", "and for requests to the HTTP API"),
        ],
    ),
    (
        "plugin new",
        &[
            ("plugin new hello --lang go", "makes the folder hello"),
            ("plugin new web --lang go --template controller", "a plugin that works on keys"),
            ("plugin new --list", "the languages"),
        ],
    ),
    (
        "plugin build",
        &[
            ("plugin build", "the project that you are in"),
            ("plugin build hello --output plugins/hello.wasm", "to where a host loads it from"),
        ],
    ),
    (
        "plugin check",
        &[
            ("plugin check plugins/hello.wasm", "its needs and its requests"),
            (
                "plugin check plugins/hello.wasm --config informant.yaml",
                "and whether that host grants it",
            ),
        ],
    ),
    (
        "plugin test",
        &[
            ("plugin test hello.wasm --objects cluster --events run.jsonl", "shows its actions"),
            (
                "plugin test hello.wasm --objects cluster --apply-writes",
                "runs a controller until it rests",
            ),
            (
                "plugin test hello.wasm --objects cluster --events run.jsonl --golden run.golden --update",
                "keeps it",
            ),
            (
                "plugin test hello.wasm --objects cluster --events run.jsonl --golden run.golden",
                "fails where it is not as kept",
            ),
        ],
    ),
    ("plugin list", &[("plugin list -o wide", ""), ("plugin list -o json", "for machines")]),
    ("plugin describe", &[("plugin describe hello", "")]),
    ("version", &[("version", "")]),
    ("plugin reload", &[("plugin reload hello", "")]),
    ("plugin rollback", &[("plugin rollback hello", "")]),
    ("plugin pause", &[("plugin pause hello", "")]),
    ("plugin resume", &[("plugin resume hello", "")]),
    (
        "plugin fire",
        &[
            ("plugin fire report", "of a plugin with one schedule"),
            ("plugin fire report daily", "the schedule of this name"),
        ],
    ),
    (
        "why",
        &[
            ("why pod shop/web-1", "of each plugin, one line"),
            ("why pod/web-1 -n shop", "the same"),
            ("why deploy shop/web --plugin hello", "every question of one plugin"),
            ("why node node-1 -o json", "for machines"),
        ],
    ),
    ("ui", &[("ui", "open this address in a browser")]),
    (
        "top",
        &[
            ("top", "until you interrupt it"),
            ("top plugins --sort-by memory -o wide --once", "the parts of the memory, once"),
        ],
    ),
    (
        "get",
        &[
            ("get pods -A", "the objects of the cache, in kubectl's columns"),
            ("get deploy web -n shop -o yaml", "one object"),
            ("get po -l app=web --field-selector spec.nodeName=node-1 -w", "and their changes"),
        ],
    ),
    (
        "tail",
        &[
            ("tail hello", "its kept lines, and more as they come"),
            ("tail hello -n 20 --timestamps", "the last 20 lines, with their times"),
            ("tail hello --since 10m --follow=false", "ends after the kept lines"),
        ],
    ),
    ("dlq list", &[("dlq list hello", ""), ("dlq list hello -o name", "the numbers alone")]),
    ("dlq show", &[("dlq show hello 7", "")]),
    ("dlq redrive", &[("dlq redrive hello 7 8", ""), ("dlq redrive hello --all", "")]),
    ("dlq purge", &[("dlq purge hello --all", "")]),
    (
        "explain",
        &[
            ("explain", "the keys at the top"),
            ("explain subscriptions.enqueue", "a key of the descriptor"),
            ("explain ceiling.writes", "a key of the host's own file"),
        ],
    ),
    ("completion", &[("completion bash", "in ~/.bashrc: source <(informant completion bash)")]),
    ("man", &[("man man1", "then: man -l man1/informant-run.1")]),
];

/// The program's command line. Ends the process if the command line asks for help or is invalid.
pub(crate) fn parse() -> Args {
    let matches = command().get_matches();
    Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The program's commands, with their examples.
pub(super) fn command() -> Command {
    EXAMPLES.iter().fold(Args::command(), |command, (path, examples)| {
        let path: Vec<&str> = path.split(' ').collect();
        with_help(command, &path, &shown(examples))
    })
}

/// The commands without hidden ones, for completions and man pages.
pub(crate) fn visible_commands() -> Command {
    let all = command();
    let shown: Vec<_> = all.get_subcommands().filter(|it| !it.is_hide_set()).cloned().collect();
    let about = all.get_about().cloned().unwrap_or_default();
    Command::new("informant").version(env!("CARGO_PKG_VERSION")).about(about).subcommands(shown)
}

fn with_help(command: Command, path: &[&str], text: &str) -> Command {
    let Some((first, rest)) = path.split_first() else {
        return command.after_help(text.to_owned());
    };
    command.mut_subcommand(first, |it| with_help(it, rest, text))
}

/// The examples one below the other, as in kubectl's help.
fn shown(examples: &[Example]) -> String {
    let mut text = "Examples:".to_owned();
    for (line, what_for) in examples {
        if !what_for.is_empty() {
            let _ = write!(text, "\n  # {what_for}");
        }
        let _ = write!(text, "\n  informant {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap_complete::Shell;

    /// The full names of all commands that have no subcommands.
    fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
        for it in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            let path = format!("{path} {}", it.get_name()).trim_start().to_owned();
            match it.has_subcommands() {
                true => leaves(it, &path, found),
                false => found.push(path),
            }
        }
    }

    #[track_caller]
    fn check_taken(line: &str) {
        let taken = super::command().try_get_matches_from(line.split_whitespace());
        assert!(taken.is_ok(), "{line}: {taken:?}");
    }

    /// The command lines in a page's fenced blocks of `sh`, without comments and without the commands behind a pipe.
    fn lines(page: &str) -> Vec<String> {
        let page = page.replace("\\\n", " ");
        let blocks = page.split("\n```sh\n").skip(1);
        let blocks = blocks.map(|rest| rest.split_once("\n```").expect("the end of a block").0);
        let lines = blocks.flat_map(str::lines).filter(|line| line.starts_with("informant "));
        lines.filter_map(|line| Some(line.split(['#', '|']).next()?.to_owned())).collect()
    }

    #[test]
    fn pages_show_lines_that_the_program_takes() {
        let pages = [
            include_str!("../../../../README.md"),
            include_str!("../../../../plugin-sdk/README.md"),
        ];
        for page in pages {
            let lines = lines(page);
            assert!(!lines.is_empty(), "no line in {page}");
            lines.iter().for_each(|line| check_taken(line));
        }
    }

    #[test]
    fn completions_and_man_pages_name_every_command_that_is_shown() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut visible_commands(), "informant", &mut script);
            let script = String::from_utf8(script).expect("a script");
            let has = |name| script.contains(name);
            assert!(has("redrive") && !has("compile-plugin"), "{shell}: {script}");
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(visible_commands()).render(&mut page).expect("a page");
        let page = String::from_utf8(page).expect("a page");
        assert!(page.contains("rbac") && !page.contains("compile"), "{page}");
    }

    #[test]
    fn every_command_has_examples_that_it_takes() {
        let mut commands = Vec::new();
        leaves(&Args::command(), "", &mut commands);
        let mut shown: Vec<_> = EXAMPLES.iter().map(|(command, _)| (*command).to_owned()).collect();
        commands.sort();
        shown.sort();
        assert_eq!(shown, commands);
        for (command, examples) in EXAMPLES {
            for (line, _) in *examples {
                assert!(line.starts_with(command), "{line} is no {command}");
                check_taken(&format!("informant {line}"));
            }
        }
    }
}
