//! The arguments of `informant top`.

use super::AdminArgs;
use clap::{ValueEnum, value_parser};

#[derive(clap::Args, Debug)]
pub(crate) struct TopArgs {
    /// One of the two tables [default: both].
    #[arg(value_enum, value_name = "TABLE")]
    pub(crate) table: Option<TopTable>,
    /// Order of the rows: the largest first, or the names. A table without that number is in the order of its bytes.
    #[arg(long, value_enum, default_value_t = SortKey::Calls)]
    pub(crate) sort_by: SortKey,
    /// Seconds between two readings.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = value_parser!(u32).range(1..=3_600))]
    pub(crate) interval: u32,
    /// Read the host twice, one second apart, print the tables and end. So it is without a terminal.
    #[arg(long)]
    pub(crate) once: bool,
    /// Columns of the tables.
    #[arg(long, short, value_enum, default_value_t = TopOutput::Text)]
    pub(crate) output: TopOutput,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TopTable {
    /// Plugins: calls, failed calls, processor, memory, waiting work.
    Plugins,
    /// Informers: objects, bytes, changes, the last event.
    Informers,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SortKey {
    /// Calls a second; of informers, changes a second.
    Calls,
    /// Processor time.
    Cpu,
    /// Bytes of memory.
    Memory,
    /// Events, keys and firings that wait.
    Waiting,
    /// Failed calls a second; of informers, failed lists and watches.
    Failures,
    /// Objects of informers.
    Objects,
    /// Time since an informer's last event.
    Age,
    /// The names.
    Name,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TopOutput {
    /// The columns that fit a terminal.
    Text,
    /// All columns.
    Wide,
}
