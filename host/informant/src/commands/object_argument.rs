//! The object that a command line names: `NAMESPACE/NAME`, or a name with `--namespace`. Synchronous.

use anyhow::{Result, bail};
use informant_apimachinery::GroupVersionResource;

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

/// The kind and the text of the name, from one argument or from two: `pod web`, `pod/web`, `v1/pods/shop/web`.
pub(super) fn kind_and_name<'a>(
    kind: &'a str,
    name: Option<&'a str>,
) -> Result<(&'a str, &'a str)> {
    if kind.is_empty() {
        bail!("the kind is empty: write KIND NAME or KIND/NAME");
    }
    match (split_kind(kind), name) {
        ((kind, None), Some(name)) | ((kind, Some(name)), None) => Ok((kind, name)),
        ((_, Some(_)), Some(_)) => {
            bail!("there is a name in {kind:?} already; leave out the other one")
        }
        ((_, None), None) => {
            bail!("{kind:?} names a kind and no object: write KIND NAME or KIND/NAME")
        }
    }
}

/// A kind without slashes ends at the first slash. A resource such as `apps/v1/deployments` has slashes itself.
fn split_kind(text: &str) -> (&str, Option<&str>) {
    let is_resource = |text: &str| {
        let text = text.strip_prefix("core/").unwrap_or(text);
        text.parse::<GroupVersionResource>().is_ok()
    };
    if is_resource(text) {
        return (text, None);
    }
    let mut ends = text.match_indices('/').map(|(at, _)| at);
    let end = ends.clone().find(|end| is_resource(&text[..*end])).or_else(|| ends.next());
    match end {
        Some(end) => (&text[..end], Some(&text[end + 1..])),
        None => (text, None),
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

    /// `expect`: the kind and the text of the name, or a part of the error.
    #[track_caller]
    fn check_kind(kind: &str, name: Option<&str>, expect: Result<(&str, &str), &str>) {
        match (kind_and_name(kind, name), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{kind} {name:?}"),
            (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{error}"),
            (found, expect) => panic!("{kind} {name:?}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn a_kind_and_a_name_are_two_arguments_or_one() {
        check_kind("pod", Some("shop/web"), Ok(("pod", "shop/web")));
        check_kind("pod/web", None, Ok(("pod", "web")));
        check_kind("pod/shop/web", None, Ok(("pod", "shop/web")));
        check_kind("v1/pods/web", None, Ok(("v1/pods", "web")));
        check_kind("core/v1/pods", Some("web"), Ok(("core/v1/pods", "web")));
        check_kind("apps/v1/deployments", Some("web"), Ok(("apps/v1/deployments", "web")));
        check_kind("apps/v1/deployments/a/web", None, Ok(("apps/v1/deployments", "a/web")));
        check_kind("pod/", None, Ok(("pod", "")));
    }

    #[test]
    fn a_kind_without_a_name_or_with_two_is_refused() {
        let no_object = "no object: write KIND NAME or KIND/NAME";
        for kind in ["pod", "v1/pods", "apps/v1/deployments"] {
            check_kind(kind, None, Err(no_object));
        }
        check_kind("pod/web", Some("web"), Err("there is a name in \"pod/web\" already"));
        check_kind("", Some("web"), Err("the kind is empty: write KIND NAME or KIND/NAME"));
    }
}
