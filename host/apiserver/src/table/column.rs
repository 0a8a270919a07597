//! A column, and the printer of one kind: its columns and how its cells are worked out.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::format::name;

/// One column of a built-in kind.
pub(super) struct Column {
    title: &'static str,
    kind: &'static str,
    format: &'static str,
    description: &'static str,
    /// 0 is always shown, 1 with `-o wide`.
    priority: u8,
}

/// How one kind is shown.
pub(super) struct Printer {
    pub(super) columns: &'static [Column],
    /// As many cells as there are columns.
    pub(super) cells: fn(&Value, Timestamp) -> Vec<Value>,
    /// The row's conditions, or null: a pod that has ended is marked so.
    pub(super) conditions: Option<fn(&Value) -> Value>,
}

impl Printer {
    pub(super) const fn new(
        columns: &'static [Column],
        cells: fn(&Value, Timestamp) -> Vec<Value>,
    ) -> Self {
        Self { columns, cells, conditions: None }
    }
}

impl Column {
    const fn new(title: &'static str, kind: &'static str, description: &'static str) -> Self {
        Self { title, kind, format: "", description, priority: 0 }
    }

    /// The same column, shown with `-o wide` only.
    pub(super) const fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }

    /// The same column, marked as the object's name.
    pub(super) const fn named(mut self) -> Self {
        self.format = "name";
        self
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "name": self.title,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

pub(super) const fn text(title: &'static str, description: &'static str) -> Column {
    Column::new(title, "string", description)
}

pub(super) const fn integer(title: &'static str, description: &'static str) -> Column {
    Column::new(title, "integer", description)
}

pub(super) const fn boolean(title: &'static str, description: &'static str) -> Column {
    Column::new(title, "boolean", description)
}

pub(super) const NAME: Column = text("Name", "the object's name").named();
pub(super) const AGE: Column = text("Age", "how long ago the object was created");
pub(super) const CONTAINERS: Column =
    text("Containers", "the names of the containers in the template").wide();
pub(super) const IMAGES: Column =
    text("Images", "the images of the containers in the template").wide();
pub(super) const SELECTOR: Column = text("Selector", "the labels that pods are chosen by").wide();

/// Every kind that has no columns of its own (`rest.NewDefaultTableConvertor`).
pub(super) static DEFAULT: Printer = Printer::new(
    &[NAME, Column::new("Created At", "date", "when the object was created")],
    |object, _| vec![name(object), object["metadata"]["creationTimestamp"].clone()],
);
