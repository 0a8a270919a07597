//! Everything that a host shows of its plugins at about one moment, and the comparison with a row.

use informant_e2e::host::Host;
use serde_json::Value;

use super::row::{Kind, Row, Shown};
use crate::host::admin::ask;
use crate::host::bench::HostBench;

pub struct Page {
    plugins: Value,
    list: String,
    metrics: String,
    readyz: (u16, String),
    /// The expected status of `/readyz`.
    status: u16,
}

impl Page {
    pub fn of(bench: &HostBench<'_>, host: &Host, status: u16) -> Self {
        let text = |path| host.get(path).map_or(String::new(), |answer| answer.body);
        let (_, list) = ask(bench, host, &["plugin", "list"]);
        let plugins = serde_json::from_str(&text("/plugins")).unwrap_or_default();
        let readyz = host.get("/readyz?verbose");
        let readyz = readyz.map_or((0, String::new()), |answer| (answer.status, answer.body));
        Self { plugins, list, metrics: text("/metrics"), readyz, status }
    }

    /// The first difference in what is shown of a plugin.
    pub fn lie(&self, row: &Row, kind: Kind, shown: &Shown) -> Option<String> {
        let Shown { state, informer, why, letters, .. } = shown;
        let name = row.plugin(kind);
        let plugin = Plugin { page: self, name: &name };
        let up = u8::from(*state == "running");
        let claims = [
            format!("list STATE = {state}"),
            format!("json /state = {state}"),
            format!("metric state{{state=\"{state}\"}} = 1"),
            format!("metric up = {up}"),
            format!("list LETTERS = {letters}"),
            format!("json /deadLetters = {letters}"),
            format!("metric dead_letters = {letters}"),
        ];
        let mut claims = claims.into_iter().chain(shown.claims.iter().map(|it| kind.say(it)));
        let lie = claims.find_map(|claim| plugin.lie(&claim));
        let lie = lie.or_else(|| plugin.lie_of_reasons(kind, why));
        let lie = lie.or_else(|| plugin.lie_of_informer(row.resource, informer, state));
        lie.map(|lie| format!("{name}, {state} for {why:?}: {lie}"))
    }

    /// The value of the series whose line begins so; none where there is no such series.
    fn metric(&self, series: &str) -> Option<f64> {
        let mut values = self.metrics.lines().filter_map(|line| line.strip_prefix(series));
        values.find_map(|value| value.trim().parse().ok())
    }

    /// The value of a series that is not on the page: 0, for the host leaves out gauges and counters at 0. None where the host has no such
    /// family of plugins' metrics.
    fn unwritten(&self, family: &str) -> Option<f64> {
        let head = format!("# TYPE informant_plugin_{} ", family.trim_end_matches("_total"));
        self.metrics.lines().any(|line| line.starts_with(&head)).then_some(0.0)
    }

    /// A cell of `plugin list`. A column begins where its head begins.
    fn cell(&self, plugin: &str, head: &str) -> Option<String> {
        let mut lines = self.list.lines();
        let heads = lines.next()?;
        let begin = heads.find(head)?;
        let rest = &heads[begin + head.len()..];
        let gap = rest.len() - rest.trim_start().len();
        let width = if gap == 0 { usize::MAX } else { head.len() + gap };
        let line = lines.find(|line| line.split(' ').next() == Some(plugin))?;
        let cell: String = line.chars().skip(begin).take(width).collect();
        Some(cell.trim_end().to_owned())
    }
}

struct Plugin<'a> {
    page: &'a Page,
    name: &'a str,
}

impl Plugin<'_> {
    fn json(&self, pointer: &str) -> &Value {
        let mut plugins = self.page.plugins.as_array().into_iter().flatten();
        let plugin = plugins.find(|plugin| plugin["name"] == self.name);
        plugin.and_then(|plugin| plugin.pointer(pointer)).unwrap_or(&Value::Null)
    }

    /// The value at this place.
    fn found(&self, place: &str, what: &str) -> String {
        match place {
            "list" => self.page.cell(self.name, what).unwrap_or_default(),
            "json" => match self.json(what) {
                Value::String(text) => text.clone(),
                Value::Array(list) => list.len().to_string(),
                Value::Bool(is_so) => u8::from(*is_so).to_string(),
                Value::Null => "-".to_owned(),
                other => other.to_string(),
            },
            "metric" => {
                let (family, labels) = what.split_once('{').unwrap_or((what, "}"));
                let comma = if labels == "}" { "" } else { "," };
                let name = self.name;
                let series =
                    format!("informant_plugin_{family}{{plugin=\"{name}\"{comma}{labels} ");
                let value = self.page.metric(&series).or_else(|| self.page.unwritten(family));
                value.map_or("absent".to_owned(), |value| value.to_string())
            }
            other => panic!("{other} is no place"),
        }
    }

    /// Returns the claim if it is false: `list WAITING > 0`, `json /queue/depth = 5`, `metric up = 1`, `json /reason
    /// has no room`.
    fn lie(&self, claim: &str) -> Option<String> {
        let mut parts = claim.splitn(4, ' ');
        let mut part = || parts.next().expect("a claim has four parts");
        let (place, what, compared, value) = (part(), part(), part(), part());
        let found = self.found(place, what);
        let number = |text: &str| text.parse::<f64>().ok();
        let both = number(&found).zip(number(value));
        let holds = match compared {
            "=" => both.map_or(found == value, |(found, value)| found == value),
            ">" => both.is_some_and(|(found, value)| found > value),
            "has" => found.contains(value),
            other => panic!("{other} compares nothing"),
        };
        (!holds).then(|| format!("{claim}; it is {found:?}"))
    }

    fn lie_of_reasons(&self, kind: Kind, expect: &[&str]) -> Option<String> {
        let reasons = self.json("/why").as_array().into_iter().flatten();
        let reasons: Vec<&str> = reasons.filter_map(Value::as_str).collect();
        let mut pairs = reasons.iter().zip(expect);
        let is_same = reasons.len() == expect.len()
            && pairs.all(|(reason, expect)| has_in_order(reason, &kind.say(expect)));
        let cell = self.page.cell(self.name, "WHY").unwrap_or_default();
        // A number may differ between two reads.
        let without_numbers = |text: &str| text.replace(|it: char| it.is_ascii_digit(), "");
        let listed = if reasons.is_empty() { "-".to_owned() } else { reasons.join("; ") };
        match (is_same, without_numbers(&cell) == without_numbers(&listed)) {
            (true, true) => None,
            (false, _) => Some(format!("why is {reasons:#?}")),
            (true, false) => Some(format!("WHY is {cell:?}, and why is {listed:?}")),
        }
    }

    /// Nothing of a single plugin keeps a host from being ready.
    fn lie_of_informer(&self, resource: &str, expect: &str, state: &str) -> Option<String> {
        let of_plugin = ["/subscriptions/0/informer/state", "/reads/0/informer/state"];
        let shown = of_plugin.map(|pointer| self.json(pointer).as_str());
        let shown = shown.into_iter().flatten().next();
        let runs_none = match state {
            "waiting" | "stopped" => true,
            "paused" => self.json("/version").is_null(),
            _ => false,
        };
        let is_shown = shown.map_or(runs_none, |shown| shown == expect);
        let series = format!("{{resource=\"{resource}\",state=\"{expect}\"}} ");
        let is_counted =
            self.page.metric(&format!("informant_informer_state{series}")) == Some(1.0);
        let (status, body) = &self.page.readyz;
        let sign = if expect == "stale" { '-' } else { '+' };
        let line = match expect {
            "synced" => format!("[{sign}]informer {resource} ok\n"),
            other => format!("[{sign}]informer {resource} {other}: "),
        };
        let lines = ["[+]plugins ok\n", &line];
        let is_told = *status == self.page.status && lines.iter().all(|line| body.contains(line));
        let what = match (is_shown, is_counted, is_told) {
            (true, true, true) => return None,
            (false, ..) => format!("/plugins has it as {shown:?}"),
            (_, false, _) => "the metrics have it in another state".to_owned(),
            (.., false) => format!("/readyz: {status} {body}"),
        };
        Some(format!("the informer of {resource} is {expect}: {what}"))
    }
}

/// Whether the text contains all parts of one of the patterns in order. Dots separate the parts.
fn has_in_order(text: &str, patterns: &str) -> bool {
    let has = |pattern: &str| {
        let mut parts = pattern.split(" … ");
        parts.try_fold(text, |rest, part| Some(rest.split_once(part)?.1)).is_some()
    };
    patterns.split(" | ").any(has)
}
