//! `informant ui`: the address of the dashboard of a running host, with the right to act.

use super::ask::{block_on, client, print, print_json};
use crate::cli::{AskArgs, Output};
use anyhow::Result;

/// Asks the host and shows its answer.
pub(crate) fn ui(args: &AskArgs) -> Result<()> {
    let answer = block_on(client(&args.admin)?.get("/ui"))?;
    match args.output {
        Output::Text => print(answer["url"].as_str().unwrap_or_default()),
        Output::Json => print_json(&answer),
    }
    Ok(())
}
