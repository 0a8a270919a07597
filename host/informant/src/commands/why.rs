//! `informant why`: why the plugins of a running host were called for an object, or were not.

mod text;

use super::ask::{block_on, client, print, print_json};
use crate::cli::{Output, WhyArgs};
use anyhow::{Context, Result};
use informant_runtime::Why;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Asks the host and shows its answer.
pub(crate) fn why(args: &WhyArgs) -> Result<()> {
    let answer = block_on(client(&args.ask)?.get(&path(args)))?;
    match args.ask.output {
        Output::Json => print_json(&answer),
        Output::Text => {
            let why: Why = serde_json::from_value(answer)
                .context("the host is another version, whose answer cannot be read")?;
            print(&text::text(&why, args.plugin.is_some()));
        }
    }
    Ok(())
}

fn path(args: &WhyArgs) -> String {
    let (namespace, name) = args.object.split_once('/').unwrap_or(("", &args.object));
    let plugin = args.plugin.as_ref().map(|plugin| ("plugin", plugin.as_str()));
    let named = [("kind", args.kind.as_str()), ("namespace", namespace), ("name", name)];
    let pairs = named.into_iter().chain(plugin).filter(|(_, value)| !value.is_empty());
    let pairs =
        pairs.map(|(key, value)| format!("{key}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
    format!("/why?{}", pairs.collect::<Vec<_>>().join("&"))
}
