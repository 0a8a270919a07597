//! The arguments of the commands that show this program's own texts.

use std::path::PathBuf;

#[derive(clap::Args, Debug)]
pub(crate) struct ExplainArgs {
    /// Path of a key, such as subscriptions.enqueue, limits.memory or ceiling.writes [default: the keys at the top].
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<String>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct CompletionArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ManArgs {
    /// Directory for the pages. It is made if it is missing.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
