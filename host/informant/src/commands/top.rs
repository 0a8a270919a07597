//! `informant top`: the work and the memory of the plugins and informers of a running host, as `top` and `kubectl top` show
//! processes and Pods.

mod columns;
mod rates;

use super::ask::{block_on, client, print, table};
use crate::admin::Client;
use crate::cli::{SortKey, TopArgs, TopOutput, TopTable};
use crate::logging::{TerminalSize, is_coloured, put, terminal_size};
use anstyle::{AnsiColor, Style};
use anyhow::Result;
use columns::{INFORMERS, OF_ACCOUNT, OF_LISTS, PLUGINS, sort_informers, sort_plugins};
use rates::Reading;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// The time between the two readings of `--once`.
const ONCE: Duration = Duration::from_secs(1);
/// The states of plugins and informers that work.
const GOOD: [&str; 2] = ["running", "synced"];
/// Clears the screen once. Later tables are written over the earlier ones.
const CLEAR: &str = "\u{1b}[2J";

/// Shows the tables again and again, or once.
pub(crate) fn top(args: &TopArgs) -> Result<()> {
    let client = client(&args.admin)?;
    block_on(async {
        match terminal_size() {
            Some(_) if !args.once => follow(&client, args).await,
            _ => once(&client, args).await,
        }
    })
}

async fn once(client: &Client, args: &TopArgs) -> Result<()> {
    let (before, began) = (read(client).await?, Instant::now());
    sleep(ONCE).await;
    let now = read(client).await?;
    let tables = tables(&before, &now, began.elapsed(), args.into());
    print(&tables.iter().map(|lines| lines.join("\n")).collect::<Vec<_>>().join("\n\n"));
    Ok(())
}

/// Until the reader of the output is gone.
async fn follow(client: &Client, args: &TopArgs) -> Result<()> {
    let (mut before, mut began) = (read(client).await?, Instant::now());
    let mut pause = ONCE;
    let mut clear = CLEAR;
    loop {
        sleep(pause).await;
        let (now, at) = (read(client).await?, Instant::now());
        let tables = tables(&before, &now, at - began, args.into());
        let Some(size) = terminal_size() else { return Ok(()) };
        if !put(&format!("{clear}{}", screen(&tables, &size, is_coloured()))) {
            return Ok(());
        }
        (before, began, clear) = (now, at, "");
        pause = Duration::from_secs(args.interval.into());
    }
}

async fn read(client: &Client) -> Result<Reading> {
    let (plugins, informers) = tokio::try_join!(client.get("/plugins"), client.get("/informers"))?;
    Ok(Reading { plugins, informers })
}

/// The parts of the arguments that decide on the tables.
#[derive(Clone, Copy, Debug)]
struct TopView {
    table: Option<TopTable>,
    sort_by: SortKey,
    is_wide: bool,
}

impl From<&TopArgs> for TopView {
    fn from(args: &TopArgs) -> Self {
        let is_wide = args.output == TopOutput::Wide;
        Self { table: args.table, sort_by: args.sort_by, is_wide }
    }
}

/// The lines of each table.
fn tables(before: &Reading, now: &Reading, time: Duration, view: TopView) -> Vec<Vec<String>> {
    let mut tables = Vec::new();
    if view.table != Some(TopTable::Informers) {
        let mut plugins = now.plugins_since(before, time);
        sort_plugins(&mut plugins, view.sort_by);
        let rows = plugins.iter().map(|one| columns::plugin(one, view.is_wide)).collect();
        tables.push(lines(&PLUGINS, &OF_ACCOUNT, view.is_wide, rows));
    }
    if view.table != Some(TopTable::Plugins) {
        let mut informers = now.informers_since(before, time);
        sort_informers(&mut informers, view.sort_by);
        let rows = informers.iter().map(|one| columns::informer(one, view.is_wide)).collect();
        tables.push(lines(&INFORMERS, &OF_LISTS, view.is_wide, rows));
    }
    tables
}

fn lines(heads: &[&str], more: &[&str], is_wide: bool, rows: Vec<Vec<String>>) -> Vec<String> {
    let more = if is_wide { more } else { &[] };
    table(&[heads, more].concat(), &rows).lines().map(str::to_owned).collect()
}

/// The tables on a screen. Each line is cut to the columns, and each table to its part of the rows.
fn screen(tables: &[Vec<String>], size: &TerminalSize, is_coloured: bool) -> String {
    // The cursor needs the last row, and a blank line is between two tables.
    let rows = size.rows.saturating_sub(tables.len());
    let room = rows / tables.len().max(1);
    let mut spare = rows - tables.iter().map(|table| table.len().min(room)).sum::<usize>();
    let mut text = "\u{1b}[H".to_owned();
    for (number, table) in tables.iter().enumerate() {
        if number > 0 {
            text.push_str("\u{1b}[K\n");
        }
        let wanted = table.len().saturating_sub(room).min(spare);
        spare -= wanted;
        let shown = table.len().min(room + wanted);
        let left_out = table.len() - shown;
        let whole = if left_out > 0 { shown.saturating_sub(1) } else { shown };
        for (row, line) in table.iter().take(whole).enumerate() {
            push_line(&mut text, line, style(row, line), size.columns, is_coloured);
        }
        if left_out > 0 {
            let more = format!("... and {} more", table.len() - whole);
            push_line(&mut text, &more, Style::new().dimmed(), size.columns, is_coloured);
        }
    }
    text + "\u{1b}[J"
}

/// Heads are bold. A row in another state than that of work is yellow.
fn style(row: usize, line: &str) -> Style {
    let state = line.split_whitespace().nth(1).unwrap_or_default();
    match row {
        0 => Style::new().bold(),
        _ if GOOD.contains(&state) => Style::new(),
        _ => AnsiColor::Yellow.on_default(),
    }
}

/// Adds a line that replaces the earlier one of its row.
fn push_line(text: &mut String, line: &str, style: Style, columns: usize, is_coloured: bool) {
    let cut: String = line.chars().take(columns).collect();
    match is_coloured {
        true => text.push_str(&format!("{style}{cut}{style:#}\u{1b}[K\n")),
        false => text.push_str(&format!("{cut}\u{1b}[K\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tables_of(view: TopView) -> Vec<String> {
        let reading = Reading {
            plugins: json!([{"name": "a", "state": "running"}, {"name": "b", "state": "tripped"}]),
            informers: json!([{"resource": "v1/pods", "state": "synced", "objects": 3}]),
        };
        let time = Duration::from_secs(1);
        tables(&reading, &reading, time, view).into_iter().map(|lines| lines.join("\n")).collect()
    }

    #[test]
    fn one_table_or_both_are_shown() {
        let both = TopView { table: None, sort_by: SortKey::Calls, is_wide: false };
        let plugins = "NAME  STATE    CALLS/S  FAILED/S  CPU  MEMORY  WAITING  LETTERS\n\
                       a     running  0        0         0m   -       0        -\n\
                       b     tripped  0        0         0m   -       0        -";
        let informers = "RESOURCE  STATE   OBJECTS  BYTES  CHANGES/S  LAST EVENT  FAILURES\n\
                         v1/pods   synced  3        -      0          -           -";
        assert_eq!(tables_of(both), [plugins, informers]);
        let one = |table| TopView { table: Some(table), ..both };
        assert_eq!(tables_of(one(TopTable::Plugins)), [plugins]);
        assert_eq!(tables_of(one(TopTable::Informers)), [informers]);
    }

    #[track_caller]
    fn check_screen(tables: &[&[&str]], (columns, rows): (usize, usize), expect: &str) {
        let owned = |lines: &&[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let tables: Vec<Vec<String>> = tables.iter().map(owned).collect();
        let found = screen(&tables, &TerminalSize { columns, rows }, false);
        let found = found.replace("\u{1b}[K", "").replace("\u{1b}[H", "<").replace("\u{1b}[J", ">");
        assert_eq!(found, expect);
    }

    #[test]
    fn a_screen_has_what_fits() {
        let (one, other): (&[&str], &[&str]) = (&["A", "1", "2", "3"], &["BBBB", "4"]);
        check_screen(&[one, other], (80, 24), "<A\n1\n2\n3\n\nBBBB\n4\n>");
        check_screen(&[one, other], (2, 8), "<A\n1\n2\n3\n\nBB\n4\n>");
        check_screen(&[one, other], (80, 7), "<A\n1\n... and 2 more\n\nBBBB\n4\n>");
        check_screen(&[one], (80, 4), "<A\n1\n... and 2 more\n>");
        check_screen(&[one], (80, 0), "<... and 4 more\n>");
    }

    #[test]
    fn trouble_has_a_colour() {
        let size = TerminalSize { columns: 80, rows: 24 };
        let table = ["NAME STATE", "a running", "b tripped"].map(str::to_owned).to_vec();
        let text = screen(&[table], &size, true).replace('\u{1b}', "^");
        assert!(text.contains("\na running") && text.contains("^[33mb tripped^[0m"), "{text}");
    }
}
