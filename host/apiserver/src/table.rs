//! Tables: what `kubectl get` shows, worked out on the server (`meta.k8s.io/v1` Table).
//!
//! The columns and the words in them are those of the real API server
//! (`k8s.io/kubernetes/pkg/printers/internalversion/printers.go`, 1.36; for custom resources
//! `apiextensions-apiserver/pkg/registry/customresource/tableconvertor`), each kind in the file of its
//! family. Ages depend on the time, so the time is a parameter.

mod admission;
mod autoscaling;
mod cluster;
mod column;
mod config;
mod custom;
mod format;
mod human_duration;
mod network;
mod pods;
mod rbac;
mod storage;
mod workloads;

use bytes::Bytes;
use informant_apimachinery::GroupVersionResource;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::excerpt::{WantedParts, excerpt};
use crate::partial_metadata::PartialMetadata;
use column::{Column, Printer};

pub use human_duration::human_duration;

/// How much of each object a row carries (`includeObject` of the request).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Its metadata, as PartialObjectMetadata: the default.
    #[default]
    Metadata,
    /// All of it.
    Object,
    /// Nothing.
    None,
}

/// What a table is made of, apart from the objects.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// What each row carries.
    pub include_object: IncludeObject,
    /// Leaves the column definitions out: in a watch only the first table has them.
    pub no_headers: bool,
    /// Ages are counted up to here.
    pub now: Timestamp,
}

/// Renders objects of one resource as a Table.
///
/// `custom` is `None` for a built-in resource and the `additionalPrinterColumns` (or null) of a custom one.
/// `metadata` is the table's own: resourceVersion, continue and remainingItemCount of the list, or the
/// resourceVersion of the only object. `objects` are JSON, and must have their `apiVersion` and `kind` if rows are to
/// carry them whole.
pub fn render(
    resource: &GroupVersionResource,
    custom: Option<&Value>,
    metadata: Value,
    objects: &[Bytes],
    options: &TableOptions,
) -> Bytes {
    let layout = Layout::of(resource, custom);
    let columns = || column_definitions(resource, custom);
    let table = Table {
        kind: "Table",
        api_version: "meta.k8s.io/v1",
        metadata,
        column_definitions: if options.no_headers { Vec::new() } else { columns() },
        rows: objects.iter().map(|object| layout.row(object, options)).collect(),
    };
    serde_json::to_vec(&table).expect("a table is JSON").into()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Table<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Value,
    column_definitions: Vec<Value>,
    rows: Vec<Row<'a>>,
}

/// The row of an object.
#[derive(Serialize)]
pub struct Row<'a> {
    cells: Vec<Value>,
    #[serde(skip_serializing_if = "Value::is_null")]
    conditions: Value,
    object: RowContent<'a>,
}

/// What a row carries of its object, as its bytes.
#[derive(Serialize)]
#[serde(untagged)]
enum RowContent<'a> {
    Nothing,
    Object(&'a RawValue),
    Metadata(PartialMetadata<'a>),
}

/// The `columnDefinitions`. `custom` is as for [`render`].
pub fn column_definitions(resource: &GroupVersionResource, custom: Option<&Value>) -> Vec<Value> {
    match custom {
        Some(declared) => custom::definitions(declared),
        None => {
            let columns = printer(&resource.group, &resource.resource).columns;
            columns.iter().map(Column::to_json).collect()
        }
    }
}

/// The number of columns beside the name of a custom resource. `custom` is as for [`render`].
pub fn column_count(resource: &GroupVersionResource, custom: Option<&Value>) -> usize {
    match custom {
        Some(declared) => format::entries(declared).len(),
        None => printer(&resource.group, &resource.resource).columns.len(),
    }
}

/// The columns of a resource.
pub struct Layout {
    columns: Columns,
    /// The parts of an object that the cells show.
    wanted: WantedParts,
}

/// Where they come from.
enum Columns {
    BuiltIn(&'static Printer),
    Custom(Vec<custom::CustomColumn>),
}

impl Layout {
    /// `custom` is as for [`render`].
    pub fn of(resource: &GroupVersionResource, custom: Option<&Value>) -> Self {
        match custom.map(custom::columns) {
            Some(columns) => {
                Self { wanted: custom::wanted(&columns), columns: Columns::Custom(columns) }
            }
            None => {
                let printer = printer(&resource.group, &resource.resource);
                Self { columns: Columns::BuiltIn(printer), wanted: WantedParts::whole() }
            }
        }
    }

    /// The row of an object, from its JSON. Of a large object the cells see the first values.
    pub fn row<'a>(&self, json: &'a [u8], options: &TableOptions) -> Row<'a> {
        let seen = excerpt(json, &self.wanted);
        let (cells, conditions) = match &self.columns {
            Columns::BuiltIn(printer) => (
                printer.columns.iter().map(|column| column.cell(&seen, options.now)).collect(),
                printer.conditions.map_or(Value::Null, |conditions| conditions(&seen)),
            ),
            Columns::Custom(columns) => (custom::cells(columns, &seen, options.now), Value::Null),
        };
        let object = match options.include_object {
            IncludeObject::None => RowContent::Nothing,
            IncludeObject::Object => {
                serde_json::from_slice(json).map_or(RowContent::Nothing, RowContent::Object)
            }
            IncludeObject::Metadata => RowContent::Metadata(PartialMetadata::of(json)),
        };
        Row { cells, conditions, object }
    }
}

/// The printer of a built-in resource, whatever its version.
fn printer(group: &str, resource: &str) -> &'static Printer {
    let families = [
        pods::PRINTERS,
        workloads::PRINTERS,
        network::PRINTERS,
        config::PRINTERS,
        storage::PRINTERS,
        rbac::PRINTERS,
        autoscaling::PRINTERS,
        admission::PRINTERS,
        cluster::PRINTERS,
    ];
    let mut printers = families.into_iter().flatten();
    printers.find(|printer| printer.of.contains(&(group, resource))).unwrap_or(&column::DEFAULT)
}

#[cfg(test)]
mod tests;
