//! The text of an evaluation's error, which is shown to readers of `/plugins`. They may not read the object, so the
//! text has the types of values and no values. The interpreter's own text has both.

use cel::{ExecutionError, Value};

/// `expression`: of which the error is.
pub(super) fn error_text(error: &ExecutionError, expression: &str) -> String {
    use ExecutionError::*;
    let of = |value: &Value| value.type_of().to_string();
    match error {
        UnsupportedBinaryOperator(operator, left, right) => {
            format!("the operator {operator} does not take {} and {}", of(left), of(right))
        }
        Overflow(operator, ..) => format!("the result of {operator} is too large"),
        DivisionByZero(_) => "division by zero".to_owned(),
        RemainderByZero(_) => "remainder by zero".to_owned(),
        IndexOutOfBounds(_) => "the index is out of bounds".to_owned(),
        ValuesNotComparable(left, right) => {
            format!("{} and {} cannot be compared", of(left), of(right))
        }
        UnsupportedIndex(index, value) => format!("{} has no index of {}", of(value), of(index)),
        UnsupportedTargetType { target } => format!("the function does not take {}", of(target)),
        NotSupportedAsMethod { method, target } => format!("{} has no {method}", of(target)),
        UnsupportedKeyType(value) => format!("{} is no key", of(value)),
        DuplicateKey(_) => "the key is there twice".to_owned(),
        // Their message may quote an argument.
        FunctionError { function, .. } => format!("the function {function} failed"),
        // A key in brackets may be a value of the object.
        NoSuchKey(key) if expression.contains(&format!(".{key}")) => error.to_string(),
        NoSuchKey(_) => "there is no such key".to_owned(),
        // Their texts have names of the expression, and types.
        NoSuchOverload(_)
        | UndeclaredReference(_)
        | UnexpectedType { .. }
        | InvalidArgumentCount { .. }
        | MissingArgumentOrTarget => error.to_string(),
        _ => "the evaluation failed".to_owned(),
    }
}
