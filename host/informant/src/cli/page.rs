//! All commands on one page: `host/docs/commands.md`, generated from the declaration.

use super::examples::command;
use clap::{Arg, Command};
use expect_test::expect_file;
use std::fmt::Write as _;

/// A section for each command that has no subcommands.
fn sections(command: &Command, path: &str, page: &mut String) {
    for it in command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help") {
        let path = format!("{path} {}", it.get_name());
        match it.has_subcommands() {
            true => sections(it, &path, page),
            false => section(it, &path, page),
        }
    }
}

fn section(command: &Command, path: &str, page: &mut String) {
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let _ = write!(page, "\n## {path}\n\n{about}\n");
    let is_shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help";
    let rows: String = command.get_arguments().filter(is_shown).map(row).collect();
    if !rows.is_empty() {
        let _ = write!(page, "\n| option | default | meaning |\n| --- | --- | --- |\n{rows}");
    }
    if let Some(examples) = command.get_after_help().map(ToString::to_string) {
        let lines = examples.lines().skip(1).map(str::trim_start);
        let lines: Vec<_> = lines.collect();
        let _ = write!(page, "\n```text\n{}\n```\n", lines.join("\n"));
    }
}

fn row(arg: &Arg) -> String {
    let has_value = arg.get_action().takes_values();
    let values = arg.get_value_names().unwrap_or_default().iter().filter(|_| has_value);
    let values = values.map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let shown = match (arg.get_long(), arg.get_short()) {
        (Some(long), Some(short)) => format!("-{short}, --{long} {values}"),
        (Some(long), None) => format!("--{long} {values}"),
        (None, Some(short)) => format!("-{short} {values}"),
        (None, None) => values,
    };
    let defaults = arg.get_default_values().iter().filter(|_| has_value);
    let defaults = defaults.map(|value| format!("`{}`", value.to_string_lossy()));
    let defaults = defaults.collect::<Vec<_>>().join(" ");
    let help = arg.get_long_help().or(arg.get_help());
    let mut help = one_cell(&help.map(ToString::to_string).unwrap_or_default());
    if !help.ends_with(['.', ']']) {
        help.push('.');
    }
    if let Some(variable) = arg.get_env() {
        let _ = write!(help, " Also: `{}`.", variable.to_string_lossy());
    }
    let possible = arg.get_possible_values();
    let possible: Vec<_> = possible.iter().map(|value| format!("`{}`", value.get_name())).collect();
    if has_value && !possible.is_empty() {
        let _ = write!(help, " One of {}.", possible.join(", "));
    }
    format!("| `{}` | {defaults} | {help} |\n", shown.trim_end())
}

/// A text on one line of a table.
fn one_cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[test]
fn the_page_has_every_command() {
    let mut command = command();
    command.build();
    let mut page = include_str!("page.md").to_owned();
    sections(&command, "informant", &mut page);
    expect_file!["../../../docs/commands.md"].assert_eq(&page);
}
