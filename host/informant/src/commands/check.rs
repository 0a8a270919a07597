//! `informant plugin check`: checks plugin files as a host would load them.

use super::ask::{block_on, print, print_json};
use super::rbac::Needs;
use crate::cli::{CheckArgs, Output};
use crate::{compiler, host_configuration};
use anyhow::{Result, bail};
use informant_runtime::{
    CONTRACT_VERSION, CheckError, CompileError, Descriptor, LIMITS, Limits, LoadError,
    PluginChecker, PluginReport, namespaces,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Shows the declarations of each file. Fails if a file cannot be read or is no plugin.
pub(crate) fn check(args: &CheckArgs) -> Result<()> {
    let configurations = host_configuration::load(args.config.config.as_deref())?;
    let checker = PluginChecker::new(
        compiler::options(&args.compiler, compiler::Use::Plugins)?,
        configurations,
    )?;
    let shown = block_on(async {
        let mut shown = Vec::with_capacity(args.files.len());
        for file in &args.files {
            shown.push(look(&checker, file).await);
        }
        Ok(shown)
    })?;
    match args.output {
        Output::Json => print_json(&Value::from(shown.clone())),
        Output::Text => shown.iter().for_each(|file| print(&text(file))),
    }
    let refused = shown.iter().filter(|file| file["ok"] == false).count();
    match refused {
        0 => Ok(()),
        refused => bail!("{refused} of {} files failed the check", shown.len()),
    }
}

async fn look(checker: &PluginChecker, file: &Path) -> Value {
    let path = file.display().to_string();
    match checker.check(file).await {
        Ok(report) => report_json(&path, &report),
        Err(error) => json!({ "file": path, "ok": false, "error": problem(&error) }),
    }
}

fn problem(error: &CheckError) -> String {
    let shown = error.shown();
    match error {
        CheckError::Read(_) | CheckError::Load(LoadError::Configuration(_)) => shown,
        CheckError::Load(LoadError::Host(_) | LoadError::Compile(CompileError::Host(_))) => {
            format!("not checked: {shown}")
        }
        CheckError::Ending | CheckError::Name(_) | CheckError::Load(_) => {
            format!("not a plugin of this host: {shown}")
        }
    }
}

fn report_json(file: &str, report: &PluginReport) -> Value {
    let descriptor = &report.descriptor;
    let mut needs = Needs::of([(descriptor, report.service_account.as_ref())]);
    if report.needs_namespaces {
        needs.serve(&[namespaces()]);
    }
    let schedules: Vec<&str> = descriptor.schedules.iter().map(|it| &*it.name).collect();
    json!({
        "file": file,
        "ok": true,
        "name": report.name.as_str(),
        "version": descriptor.version,
        "contract": format!("informant:plugin@{CONTRACT_VERSION}"),
        "bytes": report.bytes,
        "sha256": report.sha256,
        "exports": report.exports,
        "imports": report.imports,
        "wasi": report.wasi.to_json(),
        "subscriptions": subscriptions(descriptor),
        "reads": reads(descriptor),
        "writes": descriptor.writes.iter().map(|it| it.shown()).collect::<Vec<_>>(),
        "http": descriptor.http.iter().map(|it| it.shown()).collect::<Vec<_>>(),
        "schedules": schedules,
        "serviceAccount": report.service_account.as_ref().map(ToString::to_string),
        "shards": report.shards,
        "grant": report.grant,
        "notGranted": report.not_granted,
        "rbac": needs.of_host(),
        "serviceAccountRbac": needs.of_accounts(),
        "limits": limits(&report.limits),
    })
}

fn scope(namespaces: &BTreeSet<String>) -> Vec<&str> {
    namespaces.iter().map(String::as_str).collect()
}

fn subscriptions(descriptor: &Descriptor) -> Vec<Value> {
    let subscriptions = descriptor.subscriptions.iter();
    let shown = subscriptions.map(|it| {
        json!({
            "name": it.name,
            "resource": it.resource.to_string(),
            "namespaces": scope(&it.namespaces),
            "namespaceSelector": it.namespace_selector.as_ref().map(ToString::to_string),
        })
    });
    shown.collect()
}

fn reads(descriptor: &Descriptor) -> Vec<Value> {
    let reads = descriptor.reads.iter();
    let shown = reads.map(|it| {
        json!({
            "resource": it.resource.to_string(),
            "namespaces": scope(&it.namespaces),
            "namespaceSelector": it.namespace_selector.as_ref().map(ToString::to_string),
        })
    });
    shown.collect()
}

/// The limits that differ from their defaults.
fn limits(limits: &Limits) -> Map<String, Value> {
    let changed = LIMITS.iter().filter(|limit| (limit.get)(limits) != limit.default);
    let shown =
        changed.map(|limit| (limit.name.to_owned(), limit.unit.show((limit.get)(limits)).into()));
    shown.collect()
}

/// An RBAC rule, with its namespace if it does not hold in all namespaces.
fn rule(rule: &Value) -> String {
    let group = rule["apiGroups"][0].as_str().filter(|group| !group.is_empty());
    let resources = words(&rule["resources"], |it| it.as_str().unwrap_or_default().to_owned());
    let of_group = group.map_or(String::new(), |group| format!(" of {group}"));
    let verbs = words(&rule["verbs"], |it| it.as_str().unwrap_or_default().to_owned());
    let place = rule["namespace"].as_str().map_or(String::new(), |it| format!(" in {it}"));
    format!("{verbs} {resources}{of_group}{place}")
}

/// The same as text for people.
fn text(file: &Value) -> String {
    let path = file["file"].as_str().unwrap_or_default();
    if let Some(error) = file["error"].as_str() {
        return format!("{path}: {error}");
    }
    let of = |key: &str| file[key].as_str().unwrap_or_default().to_owned();
    let name = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let list = |key: &str| words(&file[key], name);
    let scoped = |it: &Value| {
        let resource = it["resource"].as_str().unwrap_or_default();
        // Without a name of its own, a subscription has the name of its resource.
        let name = it["name"].as_str().filter(|name| *name != resource);
        let name = name.map_or(String::new(), |name| format!("{name}: "));
        let namespaces = words(&it["namespaces"], |it| it.as_str().unwrap_or_default().to_owned());
        let place = if namespaces.is_empty() { String::new() } else { format!(" in {namespaces}") };
        let labels = it["namespaceSelector"].as_str();
        let place = labels.map_or(place.clone(), |it| format!("{place} in namespaces with {it}"));
        format!("{name}{resource}{place}")
    };
    let limits = file["limits"].as_object().into_iter().flatten();
    let limits = limits.map(|(name, value)| format!("{name} {}", value.as_str().unwrap_or("")));
    // One shard is the default.
    let shards = file["shards"].as_u64().filter(|shards| *shards > 1);
    let waits =
        file["notGranted"].as_str().map_or(String::new(), |why| format!("it would wait: {why}"));
    let grants = needed_grants(file);
    let grant = |number: usize| grants.get(number).copied().unwrap_or_default().to_owned();
    let rows = [
        ("name", of("name")),
        ("version", of("version")),
        ("contract", of("contract")),
        ("size", format!("{} bytes", file["bytes"])),
        ("sha256", of("sha256")),
        ("exports", list("exports")),
        ("imports", list("imports")),
        ("wasi", words(&file["wasi"]["imports"], name)),
        ("finds empty", words(&file["wasi"]["empty"], name)),
        ("subscriptions", words(&file["subscriptions"], scoped)),
        ("reads", words(&file["reads"], scoped)),
        ("writes", list("writes")),
        ("http", list("http")),
        ("schedules", list("schedules")),
        ("shards", shards.map_or(String::new(), |shards| shards.to_string())),
        ("limits", limits.collect::<Vec<_>>().join(", ")),
        ("grant", grant(0)),
        ("", grant(1)),
        ("", grant(2)),
        ("acts as", of("serviceAccount")),
        ("needs", joined(&file["rbac"], "; ", rule)),
        ("account needs", joined(&file["serviceAccountRbac"], "; ", rule)),
        ("problem", waits),
    ];
    let rows = rows.iter().filter(|(_, text)| !text.is_empty());
    let lines = rows.map(|(head, text)| format!("  {head:14} {text}"));
    std::iter::once(path.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
}

/// The lines that grant the requests of a plugin. Its reads need none, unless they are of Secrets or a configuration names fewer.
fn needed_grants(file: &Value) -> Vec<&str> {
    let lists = [&file["subscriptions"], &file["reads"]].map(Value::as_array);
    let mut read = lists.into_iter().flatten().flatten();
    let is_needed = !file["notGranted"].is_null() || read.any(|it| it["resource"] == "v1/secrets");
    let lines = file["grant"].as_array().into_iter().flatten().filter_map(Value::as_str);
    lines.filter(|line| is_needed || !line.starts_with("reads:")).collect()
}

fn words(list: &Value, show: impl Fn(&Value) -> String) -> String {
    joined(list, ", ", show)
}

fn joined(list: &Value, between: &str, show: impl Fn(&Value) -> String) -> String {
    list.as_array().into_iter().flatten().map(show).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[test]
    fn a_file_is_shown_in_lines_that_say_something() {
        let file = json!({
            "file": "p/a.wasm", "name": "a", "version": "1", "contract": "c", "bytes": 7, "sha256": "ff",
            "exports": ["lifecycle", "handler"], "imports": [],
            "wasi": { "imports": ["wasi:cli/environment@0.2.6", "wasi:cli/exit@0.2.6"], "empty": ["environment"] },
            "subscriptions": [{ "name": "pods", "resource": "v1/pods", "namespaces": ["x", "y"] }],
            "reads": [{ "resource": "v1/nodes", "namespaces": [] }],
            "writes": ["patch v1/pods"], "http": ["GET https://a.org"], "grant": ["reads: []", "writes: []", "http: []"],
            "notGranted": null, "limits": { "memory": "32Mi" }, "shards": 4,
            "rbac": [{ "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list", "watch"] }],
        });
        expect![[r#"
            p/a.wasm
              name           a
              version        1
              contract       c
              size           7 bytes
              sha256         ff
              exports        lifecycle, handler
              wasi           wasi:cli/environment@0.2.6, wasi:cli/exit@0.2.6
              finds empty    environment
              subscriptions  pods: v1/pods in x, y
              reads          v1/nodes
              writes         patch v1/pods
              http           GET https://a.org
              shards         4
              limits         memory 32Mi
              grant          writes: []
                             http: []
              needs          list, watch deployments of apps"#]]
        .assert_eq(&text(&file));
        let check_grants = |resource: &str, not_granted: Value, expect: &[&str]| {
            let mut file = json!({ "reads": [], "grant": ["reads: []", "http: []"], "notGranted": not_granted });
            file["subscriptions"] = json!([{ "name": "a", "resource": resource }]);
            assert_eq!(needed_grants(&file), expect, "{resource}");
        };
        check_grants("v1/pods", Value::Null, &["http: []"]);
        check_grants("v1/secrets", Value::Null, &["reads: []", "http: []"]);
        check_grants("v1/pods", "it may not".into(), &["reads: []", "http: []"]);
    }

    #[test]
    fn only_what_is_wrong_with_a_file_makes_it_no_plugin() {
        let check = |error, expect: Expect| {
            let file = json!({ "file": "a.wasm", "ok": false, "error": problem(&error) });
            expect.assert_eq(&text(&file));
        };
        let missing = std::io::Error::from_raw_os_error(2);
        check(
            CheckError::Read(missing),
            expect!["a.wasm: cannot be read: No such file or directory (os error 2)"],
        );
        let compiler = LoadError::Compile(CompileError::Host("it was killed".to_owned()));
        check(
            CheckError::Load(compiler),
            expect!["a.wasm: not checked: the compiler could not do its work: it was killed"],
        );
        check(
            CheckError::Ending,
            expect![
                "a.wasm: not a plugin of this host: plugin files end in .wasm, in small letters"
            ],
        );
    }
}
