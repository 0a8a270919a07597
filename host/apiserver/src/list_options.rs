//! The query of a list or watch: `ListOptions`, and the rules for which of them go together.
//!
//! The rules are apimachinery's `ValidateListOptions` (`meta/internalversion/validation`) and the tables of
//! "resource versions" in the Kubernetes API concepts; the messages are the server's.

use informant_apimachinery::{ContinueToken, FieldSelector, LabelSelector, Status, StatusCause};
use percent_encoding::percent_decode_str;

use crate::{ListAt, WatchStart};

const MATCH_NOT_OLDER_THAN: &str = "NotOlderThan";
const MATCH_EXACT: &str = "Exact";

/// A decoded query string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryParameters {
    pairs: Vec<(String, String)>,
}

/// What the client asked for, read but not yet judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Changes rather than a page.
    pub watch: bool,
    /// Which labels.
    pub labels: LabelSelector,
    /// Which fields.
    pub fields: FieldSelector,
    /// How many at most; 0 for all.
    pub limit: usize,
    /// The token of the next page.
    pub continue_token: String,
    /// As the client wrote it; empty if it did not.
    pub resource_version: String,
    /// `Exact`, `NotOlderThan` or empty.
    pub resource_version_match: String,
    /// Whether a watch may send bookmarks.
    pub allow_watch_bookmarks: bool,
    /// Whether a watch begins with the objects as they are; `None` follows the old rules.
    pub send_initial_events: Option<bool>,
    /// How long a watch lasts.
    pub timeout_seconds: Option<u64>,
}

impl QueryParameters {
    /// Decodes a query; `+` is a space.
    pub fn parse(query: Option<&str>) -> Self {
        let decode = |text: &str| {
            let text = text.replace('+', " ");
            percent_decode_str(&text).decode_utf8_lossy().into_owned()
        };
        let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(value))
        });
        Self { pairs: pairs.collect() }
    }

    /// The first value of a key; empty if it has none.
    pub fn text(&self, key: &str) -> &str {
        self.pairs.iter().find(|(k, _)| k == key).map_or("", |(_, value)| value.as_str())
    }

    /// Every value of a key.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// `None` if the key is absent; what is there but not `false` or `0` counts as true, as in
    /// apimachinery's `Convert_Slice_string_To_bool`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        let (_, value) = self.pairs.iter().find(|(k, _)| k == key)?;
        Some(value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    fn number(&self, key: &str) -> Result<Option<u64>, Status> {
        let text = self.text(key);
        if text.is_empty() {
            return Ok(None);
        }
        let problem = |_| Status::bad_request(format!("{key}: {text:?} is no whole number"));
        text.parse().map(Some).map_err(problem)
    }
}

impl ListOptions {
    /// Reads the options of a list or watch.
    pub fn parse(query: &QueryParameters) -> Result<Self, Status> {
        let unreadable = |error: String| Status::bad_request(error);
        let labels = query.text("labelSelector").parse::<LabelSelector>();
        let fields = query.text("fieldSelector").parse::<FieldSelector>();
        // A negative limit is none, as in storage/cacher's `computeListLimit`.
        let limit = match query.text("limit") {
            negative if negative.starts_with('-') => 0,
            _ => query.number("limit")?.unwrap_or(0),
        };
        Ok(Self {
            watch: query.flag("watch").unwrap_or(false),
            labels: labels.map_err(|error| unreadable(error.to_string()))?,
            fields: fields.map_err(|error| unreadable(error.to_string()))?,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            continue_token: query.text("continue").to_owned(),
            resource_version: query.text("resourceVersion").to_owned(),
            resource_version_match: query.text("resourceVersionMatch").to_owned(),
            allow_watch_bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            send_initial_events: query.flag("sendInitialEvents"),
            timeout_seconds: query.number("timeoutSeconds")?,
        })
    }

    /// Which state one object is asked for in. A GET has only this option of a list (`GetOptions`), and the others mean
    /// nothing to it.
    pub fn get_at(query: &QueryParameters) -> Result<ListAt, Status> {
        let resource_version = query.text("resourceVersion").to_owned();
        let (at, ..) = Self { resource_version, ..Self::default() }.list_at()?;
        Ok(at)
    }

    /// Which state a list is of, which key it begins after, and how many items it may have.
    pub fn list_at(&self) -> Result<(ListAt, Option<String>, usize), Status> {
        self.check()?;
        if !self.continue_token.is_empty() {
            return self.continued();
        }
        let at = match (self.resource_version.as_str(), self.resource_version_match.as_str()) {
            ("", _) => ListAt::MostRecent,
            ("0", _) => ListAt::Any,
            (_, MATCH_EXACT) => ListAt::Exact(self.number()?),
            (_, MATCH_NOT_OLDER_THAN) => ListAt::NotOlderThan(self.number()?),
            // Without a match a page is exact and a full list is not (the "legacy" rows of the table).
            _ if self.limit > 0 => ListAt::Exact(self.number()?),
            _ => ListAt::NotOlderThan(self.number()?),
        };
        // The watch cache gives everything to resourceVersion 0 (storage/cacher's `computeListLimit`).
        let limit = if at == ListAt::Any { 0 } else { self.limit };
        Ok((at, None, limit))
    }

    fn continued(&self) -> Result<(ListAt, Option<String>, usize), Status> {
        if !matches!(self.resource_version.as_str(), "" | "0") {
            let message = "specifying resource version is not allowed when using continue";
            return Err(Status::bad_request(message));
        }
        let token = ContinueToken::decode(&self.continue_token)
            .map_err(|error| Status::bad_request(error.to_string()))?;
        let at = token.resource_version().map_or(ListAt::MostRecent, ListAt::Exact);
        Ok((at, Some(token.start_after().to_owned()), self.limit))
    }

    /// Where a watch begins.
    pub fn watch_start(&self) -> Result<WatchStart, Status> {
        self.check()?;
        let version = match self.resource_version.as_str() {
            "" | "0" => 0,
            _ => self.number()?,
        };
        Ok(match (self.send_initial_events, version) {
            (Some(true), version) => WatchStart::InitialState { not_older_than: version },
            (Some(false), 0) => WatchStart::Now,
            (None, 0) => WatchStart::InitialState { not_older_than: 0 },
            (_, version) => WatchStart::After(version),
        })
    }

    /// Whether a bookmark marks the end of the initial events.
    pub fn wants_initial_events_end(&self) -> bool {
        self.send_initial_events == Some(true) && self.allow_watch_bookmarks
    }

    fn number(&self) -> Result<u64, Status> {
        self.resource_version.parse().map_err(|_| {
            let written = format!("{:?}", self.resource_version);
            let cause = StatusCause::invalid("resourceVersion", written, "it is no whole number");
            Status::bad_request(format!("{}: {}", cause.field, cause.message))
        })
    }

    fn check(&self) -> Result<(), Status> {
        let causes = self.broken_rules();
        if causes.is_empty() {
            return Ok(());
        }
        Err(Status::invalid("meta.k8s.io", "ListOptions", "", causes))
    }

    fn broken_rules(&self) -> Vec<StatusCause> {
        let mut causes = Vec::new();
        let mut forbid = |field: &str, why: &str| causes.push(StatusCause::forbidden(field, why));
        let rule = self.resource_version_match.as_str();
        if self.watch {
            self.broken_watch_rules(&mut forbid);
        } else if self.send_initial_events.is_some() {
            forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
        }
        if !rule.is_empty() && !self.watch {
            if self.resource_version.is_empty() {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                forbid("resourceVersionMatch", why);
            }
            if !self.continue_token.is_empty() {
                let why = "resourceVersionMatch is forbidden when continue is provided";
                forbid("resourceVersionMatch", why);
            }
            if rule == MATCH_EXACT && self.resource_version == "0" {
                let why = "resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\"";
                forbid("resourceVersionMatch", why);
            }
        }
        if !matches!(rule, "" | MATCH_EXACT | MATCH_NOT_OLDER_THAN) {
            let known = [MATCH_EXACT, MATCH_NOT_OLDER_THAN];
            causes.push(StatusCause::not_supported("resourceVersionMatch", rule, &known));
        }
        causes
    }

    fn broken_watch_rules(&self, forbid: &mut impl FnMut(&str, &str)) {
        let rule = self.resource_version_match.as_str();
        match self.send_initial_events {
            None if !rule.is_empty() => {
                let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents \
                           is provided";
                forbid("resourceVersionMatch", why);
            }
            Some(_) if rule != MATCH_NOT_OLDER_THAN => {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                forbid("resourceVersionMatch", why);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(query: &str) -> ListOptions {
        ListOptions::parse(&QueryParameters::parse(Some(query))).expect(query)
    }

    #[track_caller]
    fn check_list(query: &str, expect: Result<(ListAt, usize), (u16, &str)>) {
        let seen = options(query).list_at().map(|(at, _, limit)| (at, limit));
        check_outcome(query, seen, expect);
    }

    #[track_caller]
    fn check_watch(query: &str, expect: Result<WatchStart, (u16, &str)>) {
        let query = format!("watch=1&{query}");
        check_outcome(&query, options(&query).watch_start(), expect);
    }

    #[track_caller]
    fn check_outcome<T: PartialEq + std::fmt::Debug>(
        query: &str,
        seen: Result<T, Status>,
        expect: Result<T, (u16, &str)>,
    ) {
        match (seen, expect) {
            (Ok(seen), Ok(expect)) => assert_eq!(seen, expect, "{query}"),
            (Err(status), Err((code, part))) => {
                assert_eq!(status.code, code, "{query}: {status}");
                assert!(status.message.contains(part), "{query}: {status}");
            }
            (seen, expect) => panic!("{query}: {seen:?} but expected {expect:?}"),
        }
    }

    #[test]
    fn a_get_has_only_a_least_version() {
        let check = |query: &str, expect| {
            let query = QueryParameters::parse(Some(query));
            assert_eq!(ListOptions::get_at(&query).map_err(|status| status.code), expect);
        };
        check("", Ok(ListAt::MostRecent));
        check("resourceVersion=0", Ok(ListAt::Any));
        check("resourceVersion=7", Ok(ListAt::NotOlderThan(7)));
        check("resourceVersion=x", Err(400));
        check("limit=1&resourceVersion=7", Ok(ListAt::NotOlderThan(7)));
        check("limit=many&timeoutSeconds=x", Ok(ListAt::MostRecent));
        check("labelSelector=%3D%3D&fieldSelector=a", Ok(ListAt::MostRecent));
        check("continue=x&resourceVersion=7", Ok(ListAt::NotOlderThan(7)));
        check("sendInitialEvents=true&resourceVersionMatch=Exact", Ok(ListAt::MostRecent));
    }

    #[test]
    fn lists_without_a_match() {
        check_list("", Ok((ListAt::MostRecent, 0)));
        check_list("limit=5", Ok((ListAt::MostRecent, 5)));
        check_list("limit=-1", Ok((ListAt::MostRecent, 0)));
        check_list("resourceVersion=0", Ok((ListAt::Any, 0)));
        check_list("resourceVersion=0&limit=5", Ok((ListAt::Any, 0)));
        check_list("resourceVersion=7", Ok((ListAt::NotOlderThan(7), 0)));
        check_list("resourceVersion=7&limit=5", Ok((ListAt::Exact(7), 5)));
    }

    #[test]
    fn lists_with_a_match() {
        let exact = "resourceVersionMatch=Exact";
        let newer = "resourceVersionMatch=NotOlderThan";
        check_list(&format!("resourceVersion=7&{exact}"), Ok((ListAt::Exact(7), 0)));
        check_list(&format!("resourceVersion=7&{newer}"), Ok((ListAt::NotOlderThan(7), 0)));
        check_list(&format!("resourceVersion=7&limit=5&{newer}"), Ok((ListAt::NotOlderThan(7), 5)));
        check_list(&format!("resourceVersion=0&{newer}"), Ok((ListAt::Any, 0)));
    }

    #[test]
    fn lists_that_break_a_rule() {
        let exact = "resourceVersionMatch=Exact";
        check_list(exact, Err((422, "forbidden unless resourceVersion is provided")));
        check_list(
            &format!("resourceVersion=0&{exact}"),
            Err((422, "forbidden for resourceVersion")),
        );
        check_list(
            "resourceVersion=1&resourceVersionMatch=x",
            Err((422, "Unsupported value: \"x\"")),
        );
        check_list("sendInitialEvents=true", Err((422, "forbidden for list")));
        check_list("resourceVersion=x", Err((400, "no whole number")));
        check_list("continue=x", Err((400, "continue key is not valid")));
        let token = ContinueToken::new(7, "a/b").encode();
        check_list(&format!("continue={token}&resourceVersion=7"), Err((400, "not allowed")));
        let both = format!("continue={token}&resourceVersion=7&{exact}");
        check_list(&both, Err((422, "forbidden when continue is provided")));
    }

    #[test]
    fn continued_lists_are_of_the_first_pages_state() {
        let token = ContinueToken::new(7, "a/b").encode();
        let seen = options(&format!("limit=2&continue={token}")).list_at().expect("valid");
        assert_eq!(seen, (ListAt::Exact(7), Some("a/b".to_owned()), 2));
        let token = ContinueToken::inconsistent("a/b").encode();
        let seen = options(&format!("limit=2&continue={token}")).list_at().expect("valid");
        assert_eq!(seen, (ListAt::MostRecent, Some("a/b".to_owned()), 2));
    }

    #[test]
    fn watches_begin_where_they_say() {
        let initial = |not_older_than| Ok(WatchStart::InitialState { not_older_than });
        let newer = "resourceVersionMatch=NotOlderThan";
        check_watch("", initial(0));
        check_watch("resourceVersion=0", initial(0));
        check_watch("resourceVersion=7", Ok(WatchStart::After(7)));
        check_watch(&format!("sendInitialEvents=true&{newer}"), initial(0));
        check_watch(&format!("sendInitialEvents=true&{newer}&resourceVersion=7"), initial(7));
        check_watch(&format!("sendInitialEvents=false&{newer}"), Ok(WatchStart::Now));
        let after = format!("sendInitialEvents=false&{newer}&resourceVersion=7");
        check_watch(&after, Ok(WatchStart::After(7)));
    }

    #[test]
    fn watches_that_break_a_rule() {
        check_watch("resourceVersionMatch=Exact", Err((422, "unless sendInitialEvents")));
        check_watch("sendInitialEvents=true", Err((422, "requires setting")));
        check_watch("resourceVersion=x", Err((400, "no whole number")));
    }

    #[test]
    fn queries_are_decoded() {
        let query = QueryParameters::parse(Some("labelSelector=a+in+%28b%2Cc%29&watch&x=&y=False"));
        assert_eq!(query.text("labelSelector"), "a in (b,c)");
        assert_eq!(query.flag("watch"), Some(true));
        assert_eq!((query.flag("y"), query.flag("z")), (Some(false), None));
    }
}
