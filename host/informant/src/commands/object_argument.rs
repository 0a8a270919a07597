//! The object that a command line names: `NAMESPACE/NAME`, or a name with `--namespace`. Synchronous.

use anyhow::{Result, bail};

/// A name, and the namespace if the command line has one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ObjectArgument<'a> {
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
}

impl<'a> ObjectArgument<'a> {
    /// Reads the argument. `option` is the value of `--namespace`.
    pub(super) fn read(text: &'a str, option: Option<&'a str>) -> Result<Self> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (option, text),
        };
        for (part, text) in [("name", Some(name)), ("namespace", namespace)] {
            if text == Some("") {
                bail!("the object's {part} is empty: write NAMESPACE/NAME, or the name alone");
            }
        }
        if name.contains('/') {
            bail!("{text:?} has more than a namespace and a name: write NAMESPACE/NAME");
        }
        if let (Some(named), Some(option)) = (namespace, option)
            && named != option
        {
            bail!("{text:?} and --namespace {option} name two namespaces; leave out one of them");
        }
        Ok(Self { namespace, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expect`: the namespace, `-` for none, and the name; or a part of the error.
    #[track_caller]
    fn check(text: &str, option: Option<&str>, expect: Result<(&str, &str), &str>) {
        let found = ObjectArgument::read(text, option);
        let found = found.map(|it| (it.namespace.unwrap_or("-"), it.name));
        match (found, expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{text} {option:?}"),
            (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{error}"),
            (found, expect) => panic!("{text} {option:?}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn an_object_is_named_in_one_word_or_in_two() {
        check("web", None, Ok(("-", "web")));
        check("web", Some("shop"), Ok(("shop", "web")));
        check("shop/web", None, Ok(("shop", "web")));
        check("shop/web", Some("shop"), Ok(("shop", "web")));
    }

    #[test]
    fn a_name_that_leaves_a_doubt_is_refused() {
        check("", None, Err("the object's name is empty"));
        check("shop/", None, Err("the object's name is empty"));
        check("/web", None, Err("the object's namespace is empty"));
        check("web", Some(""), Err("the object's namespace is empty"));
        check("a/b/c", None, Err("more than a namespace and a name"));
        check("shop/web", Some("store"), Err("name two namespaces"));
    }
}
