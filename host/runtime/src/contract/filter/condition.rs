//! The verdict of a simple filter, read from the bytes of a few values without the interpreter.
//!
//! Most filters compare members with literals, with null or with the same member of the state before. Such an
//! expression becomes a tree of tests. A test that is not certain has no answer, and the interpreter decides: a missing
//! member, values of different types, escapes in a text. Where there is an answer, it is the interpreter's, but for
//! values that the interpreter cannot read: numbers out of range, and more than 127 levels.

use super::READ_BYTES_MAX;
use super::compile::chain;
use crate::event::Change;
use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};
use informant_cache::pointer_step;
use std::cmp::Ordering;

/// A filter as tests of values.
#[derive(Debug)]
pub(crate) struct Condition {
    pointers: Vec<String>,
    root: TestNode,
}

#[derive(Debug)]
enum TestNode {
    Known(bool),
    Not(Box<Self>),
    And(Box<[Self; 2]>),
    Or(Box<[Self; 2]>),
    If(Box<[Self; 3]>),
    /// Whether an object has a member: the places of both.
    Has([ValuePlace; 2]),
    Equal([Operand; 2]),
    /// Whether two integers are in one of these orders.
    Ordered([Operand; 2], &'static [Ordering]),
    Text(ValuePlace, TextTest, String),
}

#[derive(Debug, Clone, Copy)]
enum TextTest {
    Begins,
    Ends,
    Contains,
}

/// The place of a value: a pointer in one of the states.
#[derive(Debug, Clone, Copy)]
struct ValuePlace {
    is_old: bool,
    pointer: usize,
    /// Whether the pointer is that of the whole state, which may be null.
    is_state: bool,
}

#[derive(Debug)]
enum Operand {
    Place(ValuePlace),
    Text(String),
    Int(i64),
    Bool(bool),
    Null,
    Change,
}

/// A value, as far as tests read it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TestedValue<'a> {
    Text(&'a [u8]),
    Int(i64),
    Bool(bool),
    Null,
    /// JSON of any other value.
    Other(&'a [u8]),
}

/// The states of an event. Each is the lookup of a pointer's value by its number; `None` if there is no such state.
pub(crate) struct TestedStates<'a, 's> {
    pub(crate) change: Change,
    pub(crate) object: Option<&'s dyn Fn(usize) -> Option<&'a [u8]>>,
    pub(crate) old: Option<&'s dyn Fn(usize) -> Option<&'a [u8]>>,
}

impl Condition {
    /// The tests of an expression; `None` if they cannot express it.
    pub(super) fn of(expression: &IdedExpr) -> Option<Self> {
        let mut pointers = Vec::new();
        let root = node(expression, &mut pointers)?;
        Some(Self { pointers, root })
    }

    /// The JSON pointers of the values, which are read of both states.
    pub(crate) fn pointers(&self) -> &[String] {
        &self.pointers
    }

    /// The pointer and the text, if the expression is only the comparison of a value of the object with a text.
    /// [`TextOfValue`] is the value's side of it.
    pub(crate) fn equal_text(&self) -> Option<(&str, &str)> {
        let TestNode::Equal(operands) = &self.root else { return None };
        let ([Operand::Place(place), Operand::Text(text)]
        | [Operand::Text(text), Operand::Place(place)]) = operands
        else {
            return None;
        };
        let is_of_object = !place.is_old && !place.is_state;
        is_of_object.then(|| (&*self.pointers[place.pointer], &**text))
    }

    /// Whether the event passes. `None`: the interpreter has to decide.
    pub(crate) fn verdict(&self, states: &TestedStates<'_, '_>) -> Option<bool> {
        let numbers = 0..self.pointers.len();
        let values = [states.object, states.old].into_iter().flatten();
        let values = values.flat_map(|state| numbers.clone().filter_map(state));
        let mut bytes = 0;
        for value in values {
            bytes += value.len();
            if bytes > READ_BYTES_MAX / 2 || has_code_points(value) {
                return None;
            }
        }
        self.root.verdict(states)
    }
}

/// A value as the comparison with a text sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextOfValue<'a> {
    Text(&'a [u8]),
    /// It differs from every text.
    Null,
    /// The interpreter has to compare it.
    Unknown,
}

impl<'a> TextOfValue<'a> {
    /// The JSON of the value; `None` for a missing one.
    pub(crate) fn of(json: Option<&'a [u8]>) -> Self {
        match json.filter(|json| json.len() <= READ_BYTES_MAX / 2).map(TestedValue::of) {
            Some(TestedValue::Text(text)) => Self::Text(text),
            Some(TestedValue::Null) => Self::Null,
            _ => Self::Unknown,
        }
    }
}

/// Whether a text in the JSON has `\u` escapes: the interpreter refuses half a surrogate pair.
fn has_code_points(json: &[u8]) -> bool {
    memchr::memchr(b'\\', json).is_some() && memchr::memmem::find(json, b"\\u").is_some()
}

fn node(expression: &IdedExpr, pointers: &mut Vec<String>) -> Option<TestNode> {
    match &expression.expr {
        Expr::Literal(LiteralValue::Boolean(known)) => Some(TestNode::Known(*known.inner())),
        Expr::Select(select) if select.test => {
            let (root, mut members) = chain(&select.operand)?;
            let parent = place(root, &members, pointers)?;
            members.push(&select.field);
            Some(TestNode::Has([parent, place(root, &members, pointers)?]))
        }
        Expr::Call(call) => call_node(call, pointers),
        _ => None,
    }
}

fn call_node(call: &CallExpr, pointers: &mut Vec<String>) -> Option<TestNode> {
    let CallExpr { func_name, target, args } = call;
    if let Some(target) = target {
        return text_node(func_name, target, args, pointers);
    }
    let mut nodes = || args.iter().map(|part| node(part, pointers)).collect::<Option<Vec<_>>>();
    match &**func_name {
        operators::LOGICAL_NOT => Some(TestNode::Not(Box::new(nodes()?.pop()?))),
        operators::LOGICAL_AND => Some(TestNode::And(Box::new(nodes()?.try_into().ok()?))),
        operators::LOGICAL_OR => Some(TestNode::Or(Box::new(nodes()?.try_into().ok()?))),
        operators::CONDITIONAL => Some(TestNode::If(Box::new(nodes()?.try_into().ok()?))),
        operators::IN => in_node(args, pointers),
        operator => comparison(operator, args, pointers),
    }
}

/// `value in [a, b]` is `value == a || value == b`.
fn in_node(args: &[IdedExpr], pointers: &mut Vec<String>) -> Option<TestNode> {
    let [value, list] = args else { return None };
    let Expr::List(list) = &list.expr else { return None };
    // The value is read even so, and may be missing.
    if list.elements.is_empty() {
        return None;
    }
    list.elements.iter().try_fold(TestNode::Known(false), |others, item| {
        let item @ (Operand::Text(_) | Operand::Int(_)) = operand(item, pointers)? else {
            return None;
        };
        let is_item = TestNode::Equal([operand(value, pointers)?, item]);
        Some(TestNode::Or(Box::new([others, is_item])))
    })
}

fn comparison(operator: &str, args: &[IdedExpr], pointers: &mut Vec<String>) -> Option<TestNode> {
    let [left, right] = args else { return None };
    let operands = [operand(left, pointers)?, operand(right, pointers)?];
    let orders: &[Ordering] = match operator {
        operators::EQUALS => return Some(TestNode::Equal(operands)),
        operators::NOT_EQUALS => return Some(TestNode::Not(Box::new(TestNode::Equal(operands)))),
        operators::LESS => &[Ordering::Less],
        operators::LESS_EQUALS => &[Ordering::Less, Ordering::Equal],
        operators::GREATER => &[Ordering::Greater],
        operators::GREATER_EQUALS => &[Ordering::Greater, Ordering::Equal],
        _ => return None,
    };
    Some(TestNode::Ordered(operands, orders))
}

fn text_node(
    function: &str,
    target: &IdedExpr,
    args: &[IdedExpr],
    pointers: &mut Vec<String>,
) -> Option<TestNode> {
    let test = match function {
        "startsWith" => TextTest::Begins,
        "endsWith" => TextTest::Ends,
        "contains" => TextTest::Contains,
        _ => return None,
    };
    let [argument] = args else { return None };
    let Operand::Place(place) = operand(target, pointers)? else { return None };
    let Operand::Text(text) = operand(argument, pointers)? else { return None };
    Some(TestNode::Text(place, test, text))
}

fn operand(expression: &IdedExpr, pointers: &mut Vec<String>) -> Option<Operand> {
    if let Some((root, members)) = chain(expression) {
        return match root {
            "change" if members.is_empty() => Some(Operand::Change),
            root => place(root, &members, pointers).map(Operand::Place),
        };
    }
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(Operand::Text(text.inner().to_owned())),
        Expr::Literal(LiteralValue::Int(number)) => Some(Operand::Int(*number.inner())),
        Expr::Literal(LiteralValue::Boolean(bool)) => Some(Operand::Bool(*bool.inner())),
        Expr::Literal(LiteralValue::Null) => Some(Operand::Null),
        _ => None,
    }
}

fn place(root: &str, members: &[&str], pointers: &mut Vec<String>) -> Option<ValuePlace> {
    let is_old = match root {
        "object" => false,
        "old" => true,
        _ => return None,
    };
    let pointer: String = members.iter().map(|name| format!("/{}", pointer_step(name))).collect();
    let known = pointers.iter().position(|known| *known == pointer);
    let number = known.unwrap_or_else(|| {
        pointers.push(pointer);
        pointers.len() - 1
    });
    Some(ValuePlace { is_old, pointer: number, is_state: members.is_empty() })
}

impl TestNode {
    fn verdict(&self, states: &TestedStates<'_, '_>) -> Option<bool> {
        match self {
            Self::Known(known) => Some(*known),
            Self::Not(node) => node.verdict(states).map(|verdict| !verdict),
            Self::And(nodes) => decided_by(false, nodes, states),
            Self::Or(nodes) => decided_by(true, nodes, states),
            Self::If(nodes) => match nodes[0].verdict(states)? {
                true => nodes[1].verdict(states),
                false => nodes[2].verdict(states),
            },
            Self::Has([parent, member]) => {
                let parent = parent.json(states)?;
                parent.starts_with(b"{").then(|| member.json(states).is_some())
            }
            Self::Equal([left, right]) => equal(left.value(states)?, right.value(states)?),
            Self::Ordered([left, right], orders) => {
                match (left.value(states)?, right.value(states)?) {
                    (TestedValue::Int(left), TestedValue::Int(right)) => {
                        Some(orders.contains(&left.cmp(&right)))
                    }
                    _ => None,
                }
            }
            Self::Text(place, test, text) => match TestedValue::of(place.json(states)?) {
                TestedValue::Text(value) => Some(test.holds(value, text.as_bytes())),
                _ => None,
            },
        }
    }
}

/// One of two that has this verdict decides, whatever is unknown of the other.
fn decided_by(verdict: bool, nodes: &[TestNode; 2], states: &TestedStates<'_, '_>) -> Option<bool> {
    let first = nodes[0].verdict(states);
    if first == Some(verdict) {
        return first;
    }
    match nodes[1].verdict(states) {
        Some(second) if second == verdict => Some(verdict),
        second => first.and(second),
    }
}

fn equal(left: TestedValue<'_>, right: TestedValue<'_>) -> Option<bool> {
    use TestedValue::{Bool, Int, Null, Other, Text};
    match (left, right) {
        (Text(_), Text(_)) | (Int(_), Int(_)) | (Bool(_), Bool(_)) => Some(left == right),
        (Null, _) | (_, Null) => Some(left == right),
        (Other(left), Other(right)) if left == right => Some(true),
        _ => None,
    }
}

impl TextTest {
    fn holds(self, value: &[u8], text: &[u8]) -> bool {
        match self {
            Self::Begins => value.starts_with(text),
            Self::Ends => value.ends_with(text),
            Self::Contains => memchr::memmem::find(value, text).is_some(),
        }
    }
}

impl ValuePlace {
    /// The JSON of the value. `None` if there is none, which is an error of the expression.
    fn json<'a>(self, states: &TestedStates<'a, '_>) -> Option<&'a [u8]> {
        match if self.is_old { states.old } else { states.object } {
            Some(state) => state(self.pointer),
            None => self.is_state.then_some(b"null"),
        }
    }
}

impl Operand {
    fn value<'v, 'a: 'v>(&'v self, states: &TestedStates<'a, '_>) -> Option<TestedValue<'v>> {
        Some(match self {
            Self::Place(place) => TestedValue::of(place.json(states)?),
            Self::Text(text) => TestedValue::Text(text.as_bytes()),
            Self::Int(number) => TestedValue::Int(*number),
            Self::Bool(bool) => TestedValue::Bool(*bool),
            Self::Null => TestedValue::Null,
            Self::Change => TestedValue::Text(states.change.as_str().as_bytes()),
        })
    }
}

impl<'a> TestedValue<'a> {
    fn of(json: &'a [u8]) -> Self {
        match json {
            b"null" => Self::Null,
            b"true" => Self::Bool(true),
            b"false" => Self::Bool(false),
            [b'"', text @ .., b'"'] if !text.contains(&b'\\') => Self::Text(text),
            other => Self::int(other).map_or(Self::Other(other), Self::Int),
        }
    }

    /// An integer without a fraction and an exponent.
    fn int(json: &[u8]) -> Option<i64> {
        let digits = json.strip_prefix(b"-").unwrap_or(json);
        let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        is_plain.then(|| std::str::from_utf8(json).ok()?.parse().ok()).flatten()
    }
}

#[cfg(test)]
mod tests;
