//! Output that is generated from the command line's declaration for other programs: completions of shells, and man
//! pages.

use super::ask::print;
use crate::cli::{CompletionArgs, ManArgs, visible_commands};
use crate::logging::Stdout;
use anyhow::{Context, Result};

/// Prints the program's version, as `--version` does.
pub(crate) fn version() -> Result<()> {
    print(concat!("informant ", env!("CARGO_PKG_VERSION")));
    Ok(())
}

/// Prints a shell's completion script.
pub(crate) fn completion(args: &CompletionArgs) -> Result<()> {
    clap_complete::generate(args.shell, &mut visible_commands(), "informant", &mut Stdout);
    Ok(())
}

/// Writes a man page for each command.
pub(crate) fn man(args: &ManArgs) -> Result<()> {
    let directory = &args.directory;
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(visible_commands(), directory));
    written.with_context(|| format!("no man pages can be written to {}", directory.display()))
}
