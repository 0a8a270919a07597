//! `filter`: a CEL expression that decides whether an event of a subscription is delivered.
//!
//! The expression sees `object` and `old` of the event. They are null if they do not exist: `object` of a deletion,
//! `old` of an addition and of a resync. It also sees `change` as `"added"`, `"updated"` or `"deleted"`. It suppresses
//! calls, never membership. Only an expression that names `change` filters deletions. If the evaluation fails, the
//! event is delivered.
//!
//! The plugin's actor evaluates the expression before the call. Binding a whole object would cost more than the
//! evaluation. So the compiler finds the members that the expression reads ([`needs`]), and only those are taken from
//! the bytes ([`bind`]).
//!
//! # Bounds
//!
//! An expression has at most [`TEXT_BYTES_MAX`] bytes and [`NESTING_MAX`] levels, and no regular expressions, times or
//! messages. It reads at most [`READ_BYTES_MAX`] bytes of both objects. Loops, sums and new lists are charged for
//! their size ([`cost`]).

mod bind;
mod compile;
mod condition;
mod cost;
mod error_text;
mod needs;
mod seen_values;

use crate::event::{Change, Event};
use crate::one_line::{ERROR_BYTES_MAX, one_line};
use bind::bind;
use cel::common::types::{CelBool, CelNull, CelString};
use cel::common::value::Val;
use cel::{Context, IdedExpr, Value};
pub(crate) use condition::{Condition, TestedStates, TextOfValue};
use cost::{ENVIRONMENT, limited};
use error_text::error_text;
use needs::Needs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Bytes of an expression: a full screen.
pub(crate) const TEXT_BYTES_MAX: usize = 2048;
/// Levels of an expression's tree, each of which takes stack; a chain of members is one level.
const NESTING_MAX: usize = 16;
/// Bytes of JSON that one evaluation reads from both objects together: over twenty whole Pods. All of it is bound
/// before the first step.
const READ_BYTES_MAX: usize = 128 << 10;

/// A compiled expression. Clones share it.
#[derive(Clone)]
pub struct Filter {
    compiled: Arc<CompiledFilter>,
}

struct CompiledFilter {
    text: Arc<str>,
    expression: IdedExpr,
    /// The same as tests of values, if it is simple.
    condition: Option<Condition>,
    object: Needs,
    old: Needs,
    names_change: bool,
    /// The highest cost of one evaluation.
    cost_max: u64,
}

/// An unusable expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("filter: {problem}")]
pub(crate) struct FilterError {
    problem: String,
}

/// The verdict on an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FilterVerdict {
    Told,
    Filtered,
    /// The evaluation failed, and the event is delivered.
    Failed(String),
}

impl Filter {
    pub(crate) fn compile(text: &str) -> Result<Self, FilterError> {
        let compiled = compile::compile(text).map_err(|problem| FilterError { problem })?;
        Ok(Self { compiled: Arc::new(compiled) })
    }

    /// The filter as tests of values, if they can express it.
    pub(crate) fn condition(&self) -> Option<&Condition> {
        self.compiled.condition.as_ref()
    }

    /// Whether the expression reads the state before.
    pub(crate) fn reads_old(&self) -> bool {
        self.compiled.old.is_used()
    }

    /// Whether a deletion may be filtered.
    pub(crate) fn names_change(&self) -> bool {
        self.compiled.names_change
    }

    /// Whether this holds for the pointer to each value of an object that the expression reads.
    pub(crate) fn reads_only(&self, holds: impl Fn(&str) -> bool) -> bool {
        let CompiledFilter { object, old, .. } = &*self.compiled;
        object.pointers().chain(old.pointers()).all(|pointer| holds(&pointer))
    }

    pub(crate) fn verdict(&self, event: &Event) -> FilterVerdict {
        let compiled = &*self.compiled;
        let (object, old) = match event.change {
            Change::Deleted if !compiled.names_change => return FilterVerdict::Told,
            Change::Deleted => (None, Some(&event.object)),
            Change::Added | Change::Updated => (Some(&event.object), event.old.as_ref()),
        };
        // An object that the expression does not read is not unpacked.
        let object = object.map(|object| compiled.object.is_used().then(|| object.json()));
        let old = old.map(|old| compiled.old.is_used().then(|| old.json()));
        let json = |text: &'_ Option<Option<bytes::Bytes>>| {
            text.as_ref().map(|text| text.clone().unwrap_or_default())
        };
        compiled.verdict(json(&object).as_deref(), json(&old).as_deref(), event.change)
    }
}

impl CompiledFilter {
    fn verdict(&self, object: Option<&[u8]>, old: Option<&[u8]>, change: Change) -> FilterVerdict {
        // The interpreter is a library, and a panic in it must not end the plugin's actor.
        let evaluated = catch_unwind(AssertUnwindSafe(|| self.evaluate(object, old, change)));
        match evaluated.unwrap_or_else(|_| Err("the interpreter panicked".to_owned())) {
            Ok(true) => FilterVerdict::Told,
            Ok(false) => FilterVerdict::Filtered,
            Err(error) => FilterVerdict::Failed(one_line(&error, ERROR_BYTES_MAX).into_owned()),
        }
    }

    fn evaluate(
        &self,
        object: Option<&[u8]>,
        old: Option<&[u8]>,
        change: Change,
    ) -> Result<bool, String> {
        let mut context = Context::with_env(ENVIRONMENT.clone());
        let mut bytes_left = READ_BYTES_MAX;
        for (name, needs, json) in [("object", &self.object, object), ("old", &self.old, old)] {
            if !needs.is_used() {
                continue;
            }
            let value: Box<dyn Val> = match json {
                Some(json) => bind(needs, json, &mut bytes_left)?,
                None => Box::new(CelNull),
            };
            context.add_variable_as_val(name, value);
        }
        context.add_variable_as_val("change", Box::new(CelString::from(change.as_str())));
        let answer = limited(self.cost_max, || Value::resolve_val(&self.expression, &context))?;
        let answer = answer.map_err(|error| error_text(&error, &self.text))?;
        let told = answer.downcast_ref::<CelBool>().map(|told| *told.inner());
        told.ok_or_else(|| format!("the answer is a {}, not a bool", answer.get_type().name()))
    }
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.compiled.text == other.compiled.text
    }
}

impl Eq for Filter {}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Filter({:?})", self.compiled.text)
    }
}

#[cfg(test)]
mod tests;
