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
    Redrive(LettersArgs),
    /// Delete dead letters.
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
