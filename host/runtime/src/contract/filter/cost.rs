//! The highest cost of an evaluation. The interpreter has no limit, so the compiler adds one to the expression: calls
//! of [`charge`], which count sizes and fail above the maximum. They charge the values of each loop, and the values
//! that a loop's body reads from outside. They also charge each sum, and each list or map that the expression makes.
//! All other parts run once for each part of the expression, or once for each charged item.

use super::compile::{ACCUMULATOR, chain};
use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, operators};
use cel::common::types::{CelBytes, CelList, CelMap, CelString, DYN_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{Env, ExecutionError};
use std::cell::Cell;
use std::sync::{Arc, LazyLock};

/// The values, and units of eight bytes of text, that one evaluation of a short expression may visit: several times
/// all items of the largest readable list. This also bounds the intermediate values.
const COST_MAX: u64 = 100_000;
/// A longer expression may visit fewer values in proportion: a loop's body is not charged for its work on an item, and
/// is no longer than the expression.
const SHORT_BYTES: u64 = 64;

const TOO_MUCH: &str = "it goes through more values than an expression of its length may";

/// No expression can name this function.
const CHARGE: &str = "@charge";

/// CEL's standard functions and the functions of this host.
pub(super) static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut environment = Env::stdlib().with_optional_support(false);
    environment
        .add_overload(CHARGE, "charge", vec![DYN_TYPE], charge)
        .expect("no standard function has the name");
    Arc::new(environment)
});

thread_local! {
    /// The remaining cost of this thread's evaluation; `None` once the limit was exceeded.
    static LEFT: Cell<Option<u64>> = const { Cell::new(Some(0)) };
}

/// The highest cost of an expression of so many bytes.
pub(super) fn cost_max(expression_bytes: usize) -> u64 {
    COST_MAX * SHORT_BYTES / (expression_bytes as u64).max(SHORT_BYTES)
}

/// Evaluates within this limit.
pub(super) fn limited<T>(max: u64, evaluate: impl FnOnce() -> T) -> Result<T, String> {
    LEFT.set(Some(max));
    let result = evaluate();
    // The expression may have handled the error.
    LEFT.get().map(|_| result).ok_or_else(|| TOO_MUCH.to_owned())
}

fn charge<'b, 'v>(mut values: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let value = values.pop().ok_or_else(ExecutionError::missing_argument_or_target)?;
    let left = LEFT.get().and_then(|left| pay(value.as_ref(), left));
    LEFT.set(left);
    left.map(|_| value).ok_or_else(|| ExecutionError::function_error(CHARGE, TOO_MUCH))
}

/// The remaining cost after a visit of the value.
fn pay(value: &dyn Val, left: u64) -> Option<u64> {
    let left = left.checked_sub(1)?;
    if let Some(list) = value.downcast_ref::<CelList<'_>>() {
        return list.inner().iter().try_fold(left, |left, item| pay(item.as_ref(), left));
    }
    if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
        return map
            .inner()
            .iter()
            .try_fold(left, |left, (name, item)| pay(item.as_ref(), pay(name.inner(), left)?));
    }
    let bytes = match value.downcast_ref::<CelString<'_>>() {
        Some(text) => text.inner().len(),
        None => value.downcast_ref::<CelBytes<'_>>().map_or(0, |bytes| bytes.inner().len()),
    };
    left.checked_sub(bytes as u64 / 8)
}

/// Adds the limit to an expression. `item` is the variable of the innermost enclosing loop.
pub(super) fn guard(expression: &mut IdedExpr, item: Option<&str>) {
    if let Some((root, _)) = chain(expression) {
        if item.is_some_and(|item| root != item && root != ACCUMULATOR) {
            wrap(expression);
        }
        return;
    }
    match &mut expression.expr {
        Expr::Call(call) => {
            let appends = call.args.first().is_some_and(is_accumulator);
            for argument in call.args.iter_mut().chain(call.target.as_deref_mut()) {
                match &mut argument.expr {
                    // The loop's own list: by its form the interpreter knows that it may append in place.
                    Expr::List(list) if appends => {
                        list.elements.iter_mut().for_each(|element| guard(element, item));
                    }
                    _ => guard(argument, item),
                }
            }
            if call.func_name == operators::ADD && !appends {
                wrap(expression);
            }
        }
        Expr::Comprehension(comprehension) => {
            let range = &mut comprehension.iter_range;
            guard(range, None);
            wrap(range);
            guard(&mut comprehension.loop_step, Some(&comprehension.iter_var));
        }
        Expr::List(list) => {
            list.elements.iter_mut().for_each(|element| guard(element, item));
            wrap(expression);
        }
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    guard(&mut entry.key, item);
                    guard(&mut entry.value, item);
                }
            }
            wrap(expression);
        }
        // `has()` on a chain copies nothing, and its time does not depend on the value's size.
        Expr::Select(select) if select.test && chain(&select.operand).is_some() => {}
        Expr::Select(select) => guard(&mut select.operand, item),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) => {}
    }
}

fn is_accumulator(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Ident(name) if name == ACCUMULATOR)
}

fn wrap(expression: &mut IdedExpr) {
    let id = expression.id;
    let args = vec![std::mem::take(expression)];
    let call = CallExpr { func_name: CHARGE.to_owned(), target: None, args };
    *expression = IdedExpr { id, expr: Expr::Call(call) };
}
