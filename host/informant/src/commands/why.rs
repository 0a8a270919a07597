//! `informant why`: why the plugins of a running host were called for an object, or were not.

mod text;

use super::ask::{block_on, client, print, print_json};
use super::object_argument::{ObjectArgument, kind_and_name};
use crate::cli::{Output, WhyArgs};
use anyhow::{Context, Result};
use informant_runtime::Why;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Asks the host and shows its answer.
pub(crate) fn why(args: &WhyArgs) -> Result<()> {
    let path = question(args)?;
    let answer = block_on(client(&args.ask.admin)?.get(&path))?;
    match args.ask.output {
        Output::Json => print_json(&answer),
        Output::Text => {
            let why: Why = serde_json::from_value(answer)
                .context("the host is another version, whose answer cannot be read")?;
            print(&text::text(&why, plugin(args).is_some()));
        }
    }
    Ok(())
}

/// The only plugin of the question. An empty name names none.
fn plugin(args: &WhyArgs) -> Option<&str> {
    args.plugin.as_deref().filter(|name| !name.is_empty())
}

fn question(args: &WhyArgs) -> Result<String> {
    let (kind, name) = kind_and_name(&args.kind, args.object.as_deref())?;
    let object = ObjectArgument::read(name, args.namespace.as_deref())?;
    Ok(path(kind, &object, plugin(args)))
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
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        why: WhyArgs,
    }

    /// `expect`: the path, or a part of the error.
    #[track_caller]
    fn check(line: &[&str], expect: Result<&str, &str>) {
        let words = [&["why"], line].concat();
        let args = Line::try_parse_from(words).map(|line| line.why).expect("a command line");
        match (question(&args), expect) {
            (Ok(path), Ok(expect)) => assert_eq!(path, expect, "{line:?}"),
            (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{error}"),
            (found, expect) => panic!("{line:?}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn the_question_has_the_words_of_the_command() {
        check(&["pod", "shop/web"], Ok("/why?kind=pod&namespace=shop&name=web"));
        check(&["pod/web", "-n", "shop"], Ok("/why?kind=pod&namespace=shop&name=web"));
        check(&["node", "n&1"], Ok("/why?kind=node&name=n%261"));
        check(&["node/n", "--plugin", "hello"], Ok("/why?kind=node&name=n&plugin=hello"));
    }

    #[test]
    fn no_empty_word_is_sent() {
        check(&["node/n", "--plugin", ""], Ok("/why?kind=node&name=n"));
        check(&["", "web"], Err("the kind is empty"));
        check(&["pod", ""], Err("the object's name is empty"));
        check(&["pod/", "-n", "shop"], Err("the object's name is empty"));
        check(&["pod"], Err("no object: write KIND NAME or KIND/NAME"));
    }
}
