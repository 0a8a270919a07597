//! `informant plugin top`: the accounts of a running host's plugins, as `kubectl top` and `docker stats` show the
//! usage of Pods and containers.

use super::ask::{block_on, cell, client};
use super::list::{Columns, show};
use crate::cli::ListArgs;
use anyhow::Result;
use serde_json::{Map, Value, json};

/// The parts of the memory that have their own column.
const OWN: [&str; 3] = ["instances", "code", "queue"];

const COLUMNS: Columns = Columns {
    heads: &[
        "NAME",
        "MEMORY",
        "LIMIT",
        "INSTANCES",
        "CODE",
        "QUEUE",
        "OTHER",
        "GUEST",
        "HOST",
        "INFORMERS",
        "LOG",
        "DISK",
    ],
    row,
    wide_heads: &[
        "STACKS",
        "DOCUMENTS",
        "WATCHES",
        "HISTORY",
        "STATE",
        "LETTERS",
        "COMPILE",
        "CPU",
    ],
    wide_row,
    name: |account| cell(&account["name"]),
};

pub(super) fn top(args: &ListArgs) -> Result<()> {
    let mut plugins = block_on(client(&args.admin)?.get("/plugins"))?;
    let plugins = plugins.as_array_mut().map(std::mem::take).unwrap_or_default();
    let mut accounts: Vec<Value> = plugins.into_iter().map(account).collect();
    accounts.sort_by_key(|account| std::cmp::Reverse(account["memoryBytes"].as_u64()));
    show(&accounts, args.output, &COLUMNS, "no plugins")
}

fn wide_row(account: &Value) -> Vec<String> {
    let parts = ["stacks", "documents", "watches", "history", "state", "deadLetters"];
    let mut cells = parts.map(|part| binary(&account["memory"][part])).to_vec();
    cells.push(seconds(&account["seconds"]["compile"]));
    cells.push(seconds(&account["processorSeconds"]));
    cells
}

fn seconds(seconds: &Value) -> String {
    seconds.as_f64().map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1}s"))
}

/// A plugin's account with its name.
fn account(mut plugin: Value) -> Value {
    let mut account = Map::from_iter([("name".to_owned(), plugin["name"].take())]);
    if let Value::Object(parts) = plugin["account"].take() {
        account.extend(parts);
    }
    Value::Object(account)
}

fn row(account: &Value) -> Vec<String> {
    let memory = &account["memory"];
    let all = account["memoryBytes"].as_u64().unwrap_or_default();
    let own: u64 = OWN.iter().filter_map(|part| memory[*part].as_u64()).sum();
    let [instances, code, queue] = OWN.map(|part| mebibytes(&memory[part]));
    vec![
        cell(&account["name"]),
        mebibytes(&account["memoryBytes"]),
        mebibytes(&account["memoryBytesMax"]),
        instances,
        code,
        queue,
        mebibytes(&json!(all.saturating_sub(own))),
        seconds(&account["seconds"]["guest"]),
        seconds(&account["seconds"]["hostFunctions"]),
        seconds(&account["seconds"]["evaluation"]),
        binary(&account["logBytes"]),
        binary(&account["diskBytes"]),
    ]
}

/// Memory in kubectl's unit, rounded up, so that only zero bytes are shown as zero.
fn mebibytes(bytes: &Value) -> String {
    bytes.as_u64().map_or_else(|| "-".to_owned(), |bytes| format!("{}Mi", bytes.div_ceil(1 << 20)))
}

/// A size in `Ki` below 1 Mi, else in `Mi`, rounded up.
fn binary(bytes: &Value) -> String {
    match bytes.as_u64() {
        None => "-".to_owned(),
        Some(0) => "0".to_owned(),
        Some(bytes) if bytes < 1 << 20 => format!("{}Ki", bytes.div_ceil(1 << 10)),
        Some(_) => mebibytes(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(account: &Value, expect: &str) {
        let shown = row(account);
        assert_eq!(shown.len(), COLUMNS.heads.len());
        assert_eq!(wide_row(account).len(), COLUMNS.wide_heads.len());
        assert_eq!(shown.join(" "), expect);
    }

    #[test]
    fn a_row_sums_what_has_no_column() {
        let memory = json!({"instances": 3 << 20, "code": 1, "queue": 0, "state": 5 << 20});
        let seconds = json!({"guest": 1.25, "hostFunctions": 0.0, "evaluation": 0.06});
        let account = json!({
            "name": "a", "memoryBytes": (8 << 20) + 1, "memoryBytesMax": 1 << 30,
            "memory": memory, "seconds": seconds, "logBytes": 4_670, "diskBytes": 1 << 21,
        });
        check(&account, "a 9Mi 1024Mi 3Mi 1Mi 0Mi 5Mi 1.2s 0.0s 0.1s 5Ki 2Mi");
        let none = json!({"name": "b", "memoryBytes": 0, "memoryBytesMax": null});
        check(&none, "b 0Mi - - - - 0Mi - - - - -");
    }
}
