//! A column, with the way to its cells; and the columns of one kind.

use super::format::{labels, name, selector_or_none, text};
use super::human_duration::age;
use jiff::Timestamp;
use serde_json::{Value, json};

/// One column of a built-in kind.
pub(super) struct Column {
    title: &'static str,
    kind: &'static str,
    format: &'static str,
    description: &'static str,
    /// 0 is always shown, 1 with `-o wide`.
    priority: u8,
    cell: Cell,
}

/// The cell of an object; ages depend on the time.
#[derive(Clone, Copy)]
enum Cell {
    Of(fn(&Value) -> Value),
    At(fn(&Value, Timestamp) -> Value),
}

/// The columns of kinds that are shown alike.
pub(super) struct Printer {
    /// Groups and plurals.
    pub(super) of: &'static [(&'static str, &'static str)],
    pub(super) columns: &'static [Column],
    /// The row's conditions, or null: a pod that has ended is marked so.
    pub(super) conditions: Option<fn(&Value) -> Value>,
}

impl Printer {
    pub(super) const fn new(
        of: &'static [(&'static str, &'static str)],
        columns: &'static [Column],
    ) -> Self {
        Self { of, columns, conditions: None }
    }
}

impl Column {
    const fn new(
        title: &'static str,
        kind: &'static str,
        description: &'static str,
        cell: Cell,
    ) -> Self {
        Self { title, kind, format: "", description, priority: 0, cell }
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

    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match self.cell {
            Cell::Of(cell) => cell(object),
            Cell::At(cell) => cell(object, now),
        }
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

pub(super) const fn column(
    title: &'static str,
    description: &'static str,
    cell: fn(&Value) -> Value,
) -> Column {
    Column::new(title, "string", description, Cell::Of(cell))
}

pub(super) const fn timed(
    title: &'static str,
    description: &'static str,
    cell: fn(&Value, Timestamp) -> Value,
) -> Column {
    Column::new(title, "string", description, Cell::At(cell))
}

pub(super) const fn integer(
    title: &'static str,
    description: &'static str,
    cell: fn(&Value) -> Value,
) -> Column {
    Column::new(title, "integer", description, Cell::Of(cell))
}

pub(super) const fn boolean(
    title: &'static str,
    description: &'static str,
    cell: fn(&Value) -> Value,
) -> Column {
    Column::new(title, "boolean", description, Cell::Of(cell))
}

pub(super) const NAME: Column = column("Name", "the object's name", name).named();
pub(super) const AGE: Column = timed("Age", "how long ago the object was created", age);

/// Every kind that has no columns of its own (`rest.NewDefaultTableConvertor`).
#[rustfmt::skip]
pub(super) static DEFAULT: Printer = Printer::new(&[], &[
    NAME,
    Column::new("Created At", "date", "when the object was created",
        Cell::Of(|it| it["metadata"]["creationTimestamp"].clone())),
]);

/// The names of the containers in a template, found in an object.
pub(super) const fn containers(cell: fn(&Value) -> Value) -> Column {
    column("Containers", "the names of the containers in the template", cell).wide()
}

/// The images of the same.
pub(super) const fn images(cell: fn(&Value) -> Value) -> Column {
    column("Images", "the images of the containers in the template", cell).wide()
}

pub(super) const fn selector(cell: fn(&Value) -> Value) -> Column {
    column("Selector", "the labels that pods are chosen by", cell).wide()
}

/// The selector that the spec has, in its long form and in its short one.
pub(super) const SELECTOR: Column = selector(|it| selector_or_none(&it["spec"]["selector"]).into());
pub(super) const LABELS: Column = selector(|it| labels(&it["spec"]["selector"]).into());
pub(super) const CONTAINERS: Column = containers(|it| names(&it["spec"]["template"]));
pub(super) const IMAGES: Column = images(|it| image_names(&it["spec"]["template"]));

/// The names of a template's containers.
pub(super) fn names(template: &Value) -> Value {
    of_containers(template, "name")
}

/// Their images.
pub(super) fn image_names(template: &Value) -> Value {
    of_containers(template, "image")
}

fn of_containers(template: &Value, member: &str) -> Value {
    let all = template["spec"]["containers"].as_array().into_iter().flatten();
    all.map(|container| text(&container[member])).collect::<Vec<_>>().join(",").into()
}
