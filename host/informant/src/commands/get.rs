//! `informant get`: objects of the cache of a running host, as `kubectl get` shows those of a cluster.
//!
//! The host makes the tables. Its Kubernetes API answers over the admin socket.

mod kinds;
mod objects;
mod request;
mod table;

use super::ask::{block_on, client, print, say};
use super::object_argument::ObjectArgument;
use crate::admin::{AnswerLines, Client, server_error};
use crate::cli::{GetArgs, ListOutput};
use crate::logging::note;
use anyhow::{Context, Result, anyhow, bail};
use informant_apimachinery::Status;
use informant_apiserver::{AGGREGATED_DISCOVERY, JSON};
use kinds::{Asked, ServedKinds};
use request::Wanted;
use serde_json::Value;
use table::PrintedTable;

/// The namespace without another one on the command line, as for kubectl.
const DEFAULT_NAMESPACE: &str = "default";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
/// `-o name` needs no more. The host answers with a list or an object.
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

/// Asks the host and shows its objects.
pub(crate) fn get(args: &GetArgs) -> Result<()> {
    let client = client(&args.admin)?;
    block_on(async {
        let served = served(&client).await?;
        let asked = served.asked(&args.resource).map_err(|text| anyhow!("{text}"))?;
        let wanted = wanted(args, &asked)?;
        match args.watch {
            true => watch(&client, &wanted, args.output).await,
            false => show(&client, &wanted, args.output).await,
        }
    })
}

async fn served(client: &Client) -> Result<ServedKinds> {
    let mut documents = Vec::new();
    for path in ["/api", "/apis"] {
        let document = client.get_as(path, AGGREGATED_DISCOVERY).await?;
        let read = serde_json::from_value(document);
        documents.push(read.context("the host is another version, whose answer cannot be read")?);
    }
    Ok(ServedKinds::new(documents))
}

fn wanted<'a>(args: &'a GetArgs, asked: &Asked<'a>) -> Result<Wanted<'a>> {
    let Asked { kind, name } = *asked;
    let name = match (name, args.name.as_deref()) {
        (Some(_), Some(_)) => {
            bail!("there is a name in {:?} already; leave out the other one", args.resource)
        }
        (name, other) => name.or(other),
    };
    let (labels, fields) = (args.selector.as_deref(), args.field_selector.as_deref());
    let option = args.namespace.as_deref();
    if option == Some("") && name.is_none() {
        bail!("the namespace is empty: name one, or leave out the option");
    }
    let has_namespace = name.is_some_and(|name| name.contains('/'));
    let named = name.map(|name| ObjectArgument::read(name, option)).transpose()?;
    let name = named.as_ref().map(|named| named.name);
    let namespace = named.and_then(|named| named.namespace).or(option);
    if !kind.is_namespaced && has_namespace {
        bail!("{} have no namespace: write the name alone", kind.resource);
    }
    if name.is_some() && (labels.is_some() || fields.is_some()) {
        bail!("name cannot be provided when a selector is specified");
    }
    if name.is_some() && args.all_namespaces && kind.is_namespaced {
        bail!("a resource cannot be retrieved by name across all namespaces");
    }
    let in_one = kind.is_namespaced && !args.all_namespaces;
    let namespace = in_one.then_some(namespace.unwrap_or(DEFAULT_NAMESPACE));
    Ok(Wanted { kind, name, namespace, labels, fields })
}

/// A table's columns for the output. None: another output than a table.
fn printed(wanted: &Wanted<'_>, output: ListOutput) -> Option<PrintedTable> {
    let with_namespace = wanted.kind.is_namespaced && wanted.namespace.is_none();
    match output {
        ListOutput::Text => Some(PrintedTable::new(false, with_namespace)),
        ListOutput::Wide => Some(PrintedTable::new(true, with_namespace)),
        ListOutput::Name | ListOutput::Json | ListOutput::Yaml => None,
    }
}

/// The media type of the answer that the output needs.
fn accept(output: ListOutput) -> &'static str {
    match output {
        ListOutput::Text | ListOutput::Wide => TABLE,
        ListOutput::Name => METADATA,
        ListOutput::Json | ListOutput::Yaml => JSON,
    }
}

async fn show(client: &Client, wanted: &Wanted<'_>, output: ListOutput) -> Result<()> {
    if let Some(mut printed) = printed(wanted, output) {
        let lines = printed.lines(&client.get_as(&wanted.path(), accept(output)).await?);
        match lines.is_empty() {
            true => note(&wanted.nothing()),
            false => print(&lines.join("\n")),
        }
        return Ok(());
    }
    let answer = client.get_as(&wanted.path(), accept(output)).await?;
    if wanted.name.is_some() {
        print(&text(wanted, output, &objects::typed(wanted.kind, answer))?);
        return Ok(());
    }
    let found = objects::objects(wanted.kind, answer);
    match output {
        ListOutput::Name => {
            found.iter().for_each(|object| print(&objects::name(wanted.kind, object)));
        }
        _ => print(&text(wanted, output, &objects::list(found))?),
    }
    Ok(())
}

fn text(wanted: &Wanted<'_>, output: ListOutput, object: &Value) -> Result<String> {
    match output {
        ListOutput::Name => Ok(objects::name(wanted.kind, object)),
        ListOutput::Yaml => objects::yaml(object),
        _ => objects::json(object),
    }
}

/// Shows the objects, then their changes until the reader of the output is gone.
async fn watch(client: &Client, wanted: &Wanted<'_>, output: ListOutput) -> Result<()> {
    let mut printed = printed(wanted, output);
    let accept = accept(output);
    let list = client.get_as(&wanted.list_path(), accept).await?;
    let parts = list["rows"].as_array().or(list["items"].as_array());
    if let Some(name) = wanted.name
        && parts.is_none_or(Vec::is_empty)
    {
        let missing = Status::not_found(&wanted.kind.resource, name);
        return Err(server_error(&serde_json::to_value(missing)?));
    }
    let mut version = version_of(&list).context("the host's list has no resourceVersion")?;
    let mut documents = objects::Documents::of(output == ListOutput::Yaml);
    let mut lines = match &mut printed {
        Some(printed) => printed.lines(&list),
        None => {
            let found = objects::objects(wanted.kind, list).into_iter();
            let texts = found.map(|object| text(wanted, output, &object));
            documents.lines(texts.collect::<Result<_>>()?)
        }
    };
    loop {
        if !lines.iter().all(|line| say(line)) {
            return Ok(());
        }
        // A watch of the host ends after some minutes. The next one continues after it.
        let mut changes = client.follow(&wanted.watch_path(&version), accept, &[]).await?;
        while let Some(object) = next(&mut changes, &mut version).await? {
            let more = match &mut printed {
                Some(printed) => printed.lines(&object),
                None => documents.lines(vec![text(
                    wanted,
                    output,
                    &objects::typed(wanted.kind, object),
                )?]),
            };
            if !more.iter().all(|line| say(line)) {
                return Ok(());
            }
        }
        lines = Vec::new();
    }
}

/// The object or the table of the next change. None: the watch has ended.
async fn next(changes: &mut AnswerLines, version: &mut String) -> Result<Option<Value>> {
    while let Some(line) = changes.next().await? {
        let mut event: Value =
            serde_json::from_str(&line).context("the host sent a change that cannot be read")?;
        let object = event["object"].take();
        if event["type"] == "ERROR" {
            return Err(server_error(&object));
        }
        if let Some(newer) = version_of(&object) {
            *version = newer;
        }
        if event["type"] != "BOOKMARK" {
            return Ok(Some(object));
        }
    }
    Ok(None)
}

/// The resourceVersion of a list, of an object or of a table.
fn version_of(object: &Value) -> Option<String> {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.filter(|version| !version.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use kinds::ServedKind;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        get: GetArgs,
    }

    /// `expect`: the path, or a part of the error.
    #[track_caller]
    fn check(resource: &str, line: &[&str], expect: Result<&str, &str>) {
        let words = [&["get", resource], line].concat();
        let args = Line::try_parse_from(words).map(|line| line.get).expect("a command line");
        let kind = ServedKind::of_test(resource);
        let found = wanted(&args, &Asked { kind: &kind, name: None }).map(|wanted| wanted.path());
        match (found, expect) {
            (Ok(path), Ok(expect)) => assert_eq!(path, expect, "{line:?}"),
            (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{error}"),
            (found, expect) => panic!("{line:?}: {found:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn a_name_with_a_namespace_is_for_namespaced_objects() {
        check("v1/pods", &["shop/web"], Ok("/api/v1/namespaces/shop/pods/web"));
        check("v1/nodes", &["n1", "-n", "shop"], Ok("/api/v1/nodes/n1"));
        check("v1/nodes", &["shop/n1"], Err("v1/nodes have no namespace"));
        check("v1/nodes", &["shop/n1", "-n", "shop"], Err("v1/nodes have no namespace"));
    }

    #[test]
    fn an_empty_namespace_is_refused() {
        check("v1/pods", &["-n", "shop"], Ok("/api/v1/namespaces/shop/pods"));
        check("v1/pods", &["-n", ""], Err("the namespace is empty"));
        check("v1/pods", &["web", "-n", ""], Err("the object's namespace is empty"));
    }
}
