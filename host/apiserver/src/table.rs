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

use informant_apimachinery::GroupVersionResource;
use jiff::Timestamp;
use serde_json::{Value, json};

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
/// resourceVersion of the only object. `objects` must have their `apiVersion` and `kind` if rows are to carry
/// them whole.
pub fn render(
    resource: &GroupVersionResource,
    custom: Option<&Value>,
    metadata: Value,
    objects: &[Value],
    options: &TableOptions,
) -> Value {
    let layout = Layout::of(resource, custom);
    let rows: Vec<Value> = objects.iter().map(|object| layout.row(object, options)).collect();
    let columns = if options.no_headers { Vec::new() } else { layout.columns() };
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    })
}

/// The columns of a resource.
pub struct Layout(Columns);

/// Where they come from.
enum Columns {
    BuiltIn(&'static Printer),
    Custom(Vec<custom::CustomColumn>),
}

impl Layout {
    /// `custom` is as for [`render`].
    pub fn of(resource: &GroupVersionResource, custom: Option<&Value>) -> Self {
        Self(match custom {
            Some(definitions) => Columns::Custom(custom::columns(definitions)),
            None => Columns::BuiltIn(printer(&resource.group, &resource.resource)),
        })
    }

    /// The `columnDefinitions`.
    pub fn columns(&self) -> Vec<Value> {
        match &self.0 {
            Columns::BuiltIn(printer) => printer.columns.iter().map(Column::to_json).collect(),
            Columns::Custom(columns) => custom::definitions(columns),
        }
    }

    /// The row of an object.
    pub fn row(&self, object: &Value, options: &TableOptions) -> Value {
        let (cells, conditions) = match &self.0 {
            Columns::BuiltIn(printer) => (
                printer.columns.iter().map(|column| column.cell(object, options.now)).collect(),
                printer.conditions.map_or(Value::Null, |conditions| conditions(object)),
            ),
            Columns::Custom(columns) => (custom::cells(columns, object, options.now), Value::Null),
        };
        let object = match options.include_object {
            IncludeObject::None => Value::Null,
            IncludeObject::Object => object.clone(),
            IncludeObject::Metadata => json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": object["metadata"],
            }),
        };
        if conditions.is_null() {
            json!({"cells": cells, "object": object})
        } else {
            json!({"cells": cells, "conditions": conditions, "object": object})
        }
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
