//! `informant tail`: the log lines of one plugin of a running host, as they come.

use super::ask::{block_on, client, path, say};
use crate::admin::{AnswerLines, Client};
use crate::cli::TailArgs;
use crate::logging::{is_coloured, note, plugin_text};
use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

const EVENTS: &str = "text/event-stream";

/// Shows the lines of a plugin.
pub(crate) fn tail(args: &TailArgs) -> Result<()> {
    let client = client(&args.admin)?;
    let shown = Shown::of(args, Timestamp::now());
    let lines = args.tail.map_or_else(String::new, |lines| format!("&tailLines={lines}"));
    let path = format!("{}?follow={}{lines}", path(&args.name, "logs")?, args.follow);
    block_on(async {
        match args.follow {
            true => follow(&client, &path, &shown).await,
            false => {
                let kept: Vec<LogLine> = serde_json::from_value(client.get(&path).await?)?;
                let mut texts = kept.iter().filter_map(|line| shown.text(line));
                let _ = texts.all(|text| say(&text));
                Ok(())
            }
        }
    })
}

/// Shows the lines until the plugin or the reader of the output is gone.
async fn follow(client: &Client, path: &str, shown: &Shown) -> Result<()> {
    let mut last = None;
    loop {
        // A stream of the host ends after some minutes. The next one continues after its last line.
        let headers = last.as_deref().map(|id| ("last-event-id", id));
        let mut lines = client.follow(path, EVENTS, headers.as_slice()).await?;
        while let Some(event) = next(&mut lines).await? {
            if event.name == "missed" {
                note("some lines are missing: the host does not keep them any more");
                continue;
            }
            if event.data.is_empty() {
                last = event.id.or(last);
                continue;
            }
            let line: LogLine = serde_json::from_str(&event.data)
                .context("the host is another version, whose line cannot be read")?;
            if shown.text(&line).is_some_and(|text| !say(&text)) {
                return Ok(());
            }
            last = event.id.or(last);
        }
    }
}

/// A server-sent event.
#[derive(Debug, Default, PartialEq, Eq)]
struct SentEvent {
    name: String,
    id: Option<String>,
    data: String,
}

/// The next event. None: the stream has ended.
async fn next(lines: &mut AnswerLines) -> Result<Option<SentEvent>> {
    let mut event = SentEvent::default();
    while let Some(line) = lines.next().await? {
        if event.takes(&line) {
            return Ok(Some(event));
        }
    }
    Ok(None)
}

impl SentEvent {
    /// Takes a line of the stream. True: the event is whole.
    fn takes(&mut self, line: &str) -> bool {
        match line.split_once(": ") {
            Some(("event", name)) => self.name = name.to_owned(),
            Some(("id", id)) => self.id = Some(id.to_owned()),
            Some(("data", data)) => self.data = data.to_owned(),
            // The end of an event, or of a comment.
            _ => return line.is_empty() && (self.id.is_some() || !self.data.is_empty()),
        }
        false
    }
}

/// A line of the host's answer.
#[derive(Debug, Deserialize)]
struct LogLine {
    timestamp: Timestamp,
    level: String,
    message: String,
    fields: Option<String>,
}

/// The lines that are shown, and their form.
struct Shown {
    since: Option<Timestamp>,
    with_time: bool,
    is_coloured: bool,
}

impl Shown {
    fn of(args: &TailArgs, now: Timestamp) -> Self {
        let age = args.since.and_then(|age| SignedDuration::try_from(age).ok());
        let since = age.and_then(|age| now.checked_sub(age).ok());
        Self { since, with_time: args.timestamps, is_coloured: is_coloured() }
    }

    fn text(&self, line: &LogLine) -> Option<String> {
        if self.since.is_some_and(|since| line.timestamp < since) {
            return None;
        }
        let level = line.level.parse().unwrap_or(tracing::Level::INFO);
        let fields = line.fields.as_ref().map_or_else(String::new, |it| format!("  {it}"));
        let text = plugin_text(self.is_coloured, level, &line.message, &fields);
        Some(match self.with_time {
            true => format!("{:.6} {text}", line.timestamp),
            false => text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_are_read_line_by_line() {
        let lines = ["", ":", "", "event: line", "id: 7", "data: {\"a\": \": \"}", ""];
        let mut event = SentEvent::default();
        let ends: Vec<bool> = lines.iter().map(|line| event.takes(line)).collect();
        assert_eq!(ends, [false, false, false, false, false, false, true]);
        let expect = SentEvent {
            name: "line".to_owned(),
            id: Some("7".to_owned()),
            data: "{\"a\": \": \"}".to_owned(),
        };
        assert_eq!(event, expect);
        // Where the stream begins.
        let mut event = SentEvent::default();
        assert!(!event.takes("id: 6") && event.takes(""));
    }

    #[track_caller]
    fn check(since: Option<i64>, with_time: bool, expect: Option<&str>) {
        let since = since.map(|second| Timestamp::from_second(second).expect("a time"));
        let shown = Shown { since, with_time, is_coloured: false };
        let line = json!({
            "timestamp": "1970-01-01T00:00:07.5Z", "level": "WARN", "message": "no\u{1b}", "fields": "a=1",
        });
        let line = serde_json::from_value(line).expect("a line");
        assert_eq!(shown.text(&line).as_deref(), expect);
    }

    #[test]
    fn a_line_has_its_level_and_fields_and_perhaps_its_time() {
        check(None, false, Some("warning: no\\u{1b}  a=1"));
        check(Some(7), true, Some("1970-01-01T00:00:07.500000Z warning: no\\u{1b}  a=1"));
        check(Some(8), true, None);
    }
}
