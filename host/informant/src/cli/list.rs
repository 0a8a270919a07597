//! The format of a list of a running host's plugins or dead letters.

use super::AdminArgs;
use clap::ValueEnum;

#[derive(clap::Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
    /// Format of the list.
    #[arg(long, short, value_enum, default_value_t = ListOutput::Text)]
    pub(crate) output: ListOutput,
}

/// The plugins of a list.
#[derive(clap::Args, Debug)]
pub(crate) struct ListOfPlugins {
    /// Names of plugins. Without a name, the list has all plugins.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) list: ListArgs,
}

/// One plugin in full.
#[derive(clap::Args, Debug)]
pub(crate) struct DescribeArgs {
    /// The plugin's name: its file name without .wasm.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
}

/// The formats of kubectl's lists.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListOutput {
    /// A table for people.
    Text,
    /// The table with more columns.
    Wide,
    /// The names alone, one a line.
    Name,
    /// JSON for programs.
    Json,
    /// The same as YAML.
    Yaml,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ListOfPlugin {
    /// The plugin's name: its file name without .wasm.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) list: ListArgs,
}
