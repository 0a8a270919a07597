//! `informant why`: why the plugins of a running host were called for an object, or were not.

mod text;

use super::ask::{block_on, client, print, print_json};
use crate::cli::{Output, WhyArgs};
use anyhow::{Context, Result, bail};
use informant_runtime::Why;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Asks the host and shows its answer.
pub(crate) fn why(args: &WhyArgs) -> Result<()> {
    let path = path(&args.kind, &args.object, args.plugin.as_deref())?;
    let answer = block_on(client(&args.ask.admin)?.get(&path))?;
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

fn path(kind: &str, object: &str, plugin: Option<&str>) -> Result<String> {
    let (namespace, name) = object.split_once('/').unwrap_or(("", object));
    if kind.is_empty() || name.is_empty() {
        bail!("the kind or the name is empty: write informant why KIND [NAMESPACE/]NAME");
    }
    let plugin = plugin.map(|plugin| ("plugin", plugin));
    let named = [("kind", kind), ("namespace", namespace), ("name", name)];
    let pairs = named.into_iter().chain(plugin).filter(|(_, value)| !value.is_empty());
    let pairs =
        pairs.map(|(key, value)| format!("{key}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
    Ok(format!("/why?{}", pairs.collect::<Vec<_>>().join("&")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, object: &str, expect: Result<&str, &str>) {
        match (path(kind, object, None), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect),
            (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{error}"),
            (found, expect) => panic!("{kind} {object}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn an_empty_name_is_refused_in_words_of_the_command() {
        check("pod", "shop/web", Ok("/why?kind=pod&namespace=shop&name=web"));
        check("node", "n", Ok("/why?kind=node&name=n"));
        for (kind, object) in [("pod", ""), ("pod", "shop/"), ("", "web")] {
            check(kind, object, Err("write informant why KIND [NAMESPACE/]NAME"));
        }
    }
}
