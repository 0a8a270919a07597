//! Functions that the commands for a running host share.

use crate::admin::{self, Client};
use crate::cli::{AdminArgs, OnePlugin, Output};
use crate::logging::{Stdout, escaped, put};
use anyhow::{Context, Result};
use informant_runtime::{PluginName, one_line};
use serde_json::{Value, json};
use std::io::Write as _;

/// Bytes of a cell. A cell of a table has a few words.
pub(super) const CELL_BYTES_MAX: usize = 4 << 10;

/// Runs a future on this thread.
pub(super) fn block_on<T>(asked: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the async runtime cannot start")?;
    runtime.block_on(asked)
}

pub(super) fn client(admin: &AdminArgs) -> Result<Client> {
    let socket = match &admin.admin_socket {
        Some(path) => path.clone(),
        None => admin::default_path_of_ours()?,
    };
    Ok(Client::new(socket))
}

/// The path of a part of a plugin. A plugin's name needs no escapes in a path.
pub(super) fn path(name: &str, what: &str) -> Result<String> {
    let name: PluginName = name.parse()?;
    Ok(format!("/plugins/{name}/{what}"))
}

/// Asks the host to change a plugin, and shows its answer.
pub(super) fn act(plugin: &OnePlugin, what: &str, body: Option<Value>) -> Result<()> {
    let path = path(&plugin.name, what)?;
    let done = block_on(client(&plugin.ask.admin)?.post(&path, body))?;
    match plugin.ask.output {
        Output::Text => print(&format!("{}: {done}", plugin.name)),
        Output::Json => print_json(&json!({ "plugin": plugin.name, "msg": done })),
    }
    Ok(())
}

pub(super) fn print(text: &str) {
    // It never fails.
    let _ = writeln!(Stdout, "{text}");
}

/// Prints a line at once. False: more lines have no use.
pub(super) fn say(line: &str) -> bool {
    put(&format!("{line}\n"))
}

pub(super) fn print_json(value: &Value) {
    print(&escaped(&format!("{value:#}")));
}

/// Rows below their heads. A column is as wide as its widest cell; the last column is not padded.
pub(super) fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let texts = rows.iter().map(|row| row[column].chars().count());
        texts.chain([heads[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |texts: Vec<&str>| {
        let padded = texts.iter().zip(&widths).map(|(text, width)| format!("{text:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rows = rows.iter().map(|row| line(row.iter().map(String::as_str).collect()));
    std::iter::once(line(heads.to_vec())).chain(rows).collect::<Vec<_>>().join("\n")
}

/// A value of the host's answer as a cell: the text itself on one line, or `-` for null.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) if text.is_empty() => "-".to_owned(),
        Value::String(text) => one_line(text, CELL_BYTES_MAX).into_owned(),
        other => other.to_string(),
    }
}

/// A time without fractions of seconds.
pub(super) fn whole_seconds(at: &Value) -> String {
    match at.as_str().and_then(|at| at.split_once('.')) {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => cell(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest() {
        let rows =
            [vec!["a".to_owned(), "running".to_owned()], vec!["müller".to_owned(), "-".to_owned()]];
        assert_eq!(table(&["NAME", "STATE"], &rows), "NAME    STATE\na       running\nmüller  -");
        assert_eq!(table(&["NAME"], &[]), "NAME");
    }

    #[test]
    fn no_text_writes_to_the_terminal() {
        let name = json!("web\u{1b}[2J\u{9b}3m\u{202e}x\nlater  running");
        assert_eq!(cell(&name), r"web\u{1b}[2J\u{9b}3m\u{202e}x\nlater  running");
        let json = escaped(&format!("{:#}", json!({ "name": name, "city": "Zürich" })));
        let expect = "{\n  \"name\": \"web\\u001b[2J\\u009b3m\\u202ex\\nlater  running\",\n  \"city\": \"Zürich\"\n}";
        assert_eq!(json, expect);
        assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON")["name"], name);
    }
}
