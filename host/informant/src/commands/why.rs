//! `informant why`: why the plugins of a running host were called for an object, or were not.

mod text;

use super::ask::{block_on, client, print, print_json};
use super::object_argument::ObjectArgument;
use crate::cli::{Output, WhyArgs};
use anyhow::{Context, Result};
use informant_runtime::Why;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Asks the host and shows its answer.
pub(crate) fn why(args: &WhyArgs) -> Result<()> {
    let object = ObjectArgument::read(&args.object, args.namespace.as_deref())?;
    let path = path(&args.kind, &object, args.plugin.as_deref());
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

fn path(kind: &str, object: &ObjectArgument<'_>, plugin: Option<&str>) -> String {
    let pairs = [
        ("kind", Some(kind)),
        ("namespace", object.namespace),
        ("name", Some(object.name)),
        ("plugin", plugin),
    ];
    let pairs = pairs.into_iter().filter_map(|(key, value)| {
        Some(format!("{key}={}", utf8_percent_encode(value?, NON_ALPHANUMERIC)))
    });
    format!("/why?{}", pairs.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, (namespace, name): (Option<&str>, &str), expect: &str) {
        let object = ObjectArgument { namespace, name };
        assert_eq!(path(kind, &object, None), expect);
    }

    #[test]
    fn the_question_has_the_words_of_the_command() {
        check("pod", (Some("shop"), "web"), "/why?kind=pod&namespace=shop&name=web");
        check("node", (None, "n&1"), "/why?kind=node&name=n%261");
    }
}
