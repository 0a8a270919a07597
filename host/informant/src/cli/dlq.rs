//! `informant dlq`: dead letters.

use super::{ListOfPlugin, OnePlugin};
use clap::Subcommand;

#[derive(clap::Args, Debug)]
pub(crate) struct DlqArgs {
    #[command(subcommand)]
    pub(crate) command: DlqCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum DlqCommand {
    /// List the dead letters of a plugin, oldest first.
    List(ListOfPlugin),
    /// Show one dead letter with its object, as JSON.
    Show {
        #[command(flatten)]
        plugin: OnePlugin,
        /// The letter's number.
        id: u64,
    },
    /// Send dead letters again, with the present state of their objects.
    #[command(override_usage = "informant dlq redrive [OPTIONS] <NAME> <ID>... | --all")]
    Redrive(LettersArgs),
    /// Delete dead letters.
    #[command(override_usage = "informant dlq purge [OPTIONS] <NAME> <ID>... | --all")]
    Purge(LettersArgs),
}

#[derive(clap::Args, Debug)]
pub(crate) struct LettersArgs {
    #[command(flatten)]
    pub(crate) plugin: OnePlugin,
    /// The letters' numbers.
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub(crate) ids: Vec<u64>,
    /// All letters of the plugin.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,
}

#[cfg(test)]
mod tests {
    use crate::cli::Args;
    use clap::Parser;

    #[test]
    fn letters_are_named_or_all_of_them() {
        for what in ["redrive", "purge"] {
            let said = Args::try_parse_from(["informant", "dlq", what, "hello"]).expect_err("none");
            let usage = format!("informant dlq {what} [OPTIONS] <NAME> <ID>... | --all");
            assert!(said.to_string().contains(&usage), "{said}");
        }
    }
}
