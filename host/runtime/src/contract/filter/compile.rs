//! From text to a checked expression: refuses functions that are not offered, and parts without a bound, with their
//! place.

use super::condition::Condition;
use super::cost::{ENVIRONMENT, cost_max, guard};
use super::needs::Collected;
use super::{CompiledFilter, NESTING_MAX, TEXT_BYTES_MAX};
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SourceInfo, operators,
};
use informant_cache::Projection;

/// The variable in which a loop collects its result. Only the parser can write it.
pub(super) const ACCUMULATOR: &str = "@result";

/// The parser needs more stack than the thread of a guest has: 64 MiB of address space, of which it uses only a part.
const PARSER_STACK_BYTES: usize = 64 << 20;

/// Levels of the parser's recursion; each member of a chain may be one.
const PARSER_NESTING_MAX: u16 = 160;

/// The offered standard functions. Times need time zones, and `matches` needs regular expressions.
const FUNCTIONS: [&str; 12] = [
    "bool",
    "bytes",
    "contains",
    "double",
    "dyn",
    "endsWith",
    "int",
    "size",
    "startsWith",
    "string",
    "type",
    "uint",
];

/// Names of types, for `type(x) == string`.
const TYPES: [&str; 9] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"];

/// Compiles on a separate thread: a stack overflow of the parser would end the process, and a panic the caller.
pub(super) fn compile(text: &str) -> Result<CompiledFilter, String> {
    if text.len() > TEXT_BYTES_MAX {
        let bytes = text.len();
        return Err(format!("it has {bytes} bytes, at most {TEXT_BYTES_MAX} are read"));
    }
    let text = text.to_owned();
    let thread = std::thread::Builder::new().name("filter".to_owned());
    let thread = thread.stack_size(PARSER_STACK_BYTES).spawn(move || parse(&text));
    let thread = thread.map_err(|error| format!("no thread to read it on: {error}"))?;
    thread.join().unwrap_or_else(|_| Err("it cannot be read: the parser panicked".to_owned()))
}

fn parse(text: &str) -> Result<CompiledFilter, String> {
    let parser = ENVIRONMENT.parser().max_recursion_depth(PARSER_NESTING_MAX);
    let (mut expression, source) = parser.parse_with_source_info(text).map_err(|errors| {
        let first = errors.errors.first();
        first.map_or("it cannot be read".to_owned(), |error| {
            format!("line {}, column {}: {}", error.pos.0, error.pos.1, error.msg)
        })
    })?;
    let mut reader = Reader::default();
    reader.read(&expression, 1).map_err(|(id, problem)| at(&source, id, &problem))?;
    let Reader { object, old, names_change, .. } = reader;
    let condition = Condition::of(&expression);
    guard(&mut expression, None);
    let (object, old, cost_max) = (object.finish(), old.finish(), cost_max(text.len()));
    let text = text.into();
    Ok(CompiledFilter { text, expression, condition, object, old, names_change, cost_max })
}

fn at(source: &SourceInfo, id: u64, problem: &str) -> String {
    let Some((start, _)) = source.offset_for(id) else { return problem.to_owned() };
    let before: String = source.source.chars().take(start as usize).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|char| *char != '\n').count() + 1;
    format!("line {line}, column {column}: {problem}")
}

/// The root of a chain of members and their names: `a.b["c"]` is `a` with `b` and `c`.
pub(super) fn chain(expression: &IdedExpr) -> Option<(&str, Vec<&str>)> {
    let (mut expression, mut members) = (expression, Vec::new());
    loop {
        match &expression.expr {
            Expr::Ident(name) => {
                members.reverse();
                return Some((name, members));
            }
            Expr::Select(select) if !select.test => {
                members.push(&*select.field);
                expression = &select.operand;
            }
            Expr::Call(CallExpr { func_name, target: None, args })
                if func_name == operators::INDEX =>
            {
                let [of, index] = &args[..] else { return None };
                let Expr::Literal(LiteralValue::String(name)) = &index.expr else { return None };
                members.push(name.inner());
                expression = of;
            }
            _ => return None,
        }
    }
}

/// The root of a chain.
fn root_of(mut expression: &IdedExpr) -> u64 {
    loop {
        expression = match &expression.expr {
            Expr::Select(select) => &select.operand,
            Expr::Call(call) if !call.args.is_empty() => &call.args[0],
            _ => return expression.id,
        }
    }
}

type Checked = Result<(), (u64, String)>;

/// Checks an expression and collects its reads.
#[derive(Default)]
struct Reader {
    object: Collected,
    old: Collected,
    names_change: bool,
    /// The variables of the enclosing loops.
    items: Vec<String>,
}

impl Reader {
    fn read(&mut self, expression: &IdedExpr, level: usize) -> Checked {
        let id = expression.id;
        if level > NESTING_MAX {
            return Err((id, format!("it is nested more than {NESTING_MAX} levels deep")));
        }
        if let Some((root, members)) = chain(expression) {
            return self.chain(root_of(expression), root, &members, true);
        }
        match &expression.expr {
            Expr::Literal(_) => Ok(()),
            Expr::Select(select) => match chain(&select.operand) {
                Some((root, mut members)) if select.test => {
                    members.push(&select.field);
                    self.chain(root_of(expression), root, &members, false)
                }
                _ => self.read(&select.operand, level + 1),
            },
            Expr::Call(call) => self.call(id, call, level),
            Expr::Comprehension(comprehension) => self.comprehension(id, comprehension, level),
            Expr::List(list) => {
                list.elements.iter().try_for_each(|element| self.read(element, level + 1))
            }
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    self.read(&entry.key, level + 1)?;
                    self.read(&entry.value, level + 1)
                }
                EntryExpr::StructField(_) => Err((id, "messages are not offered".to_owned())),
            }),
            Expr::Struct(_) => Err((id, "messages are not offered".to_owned())),
            Expr::Unspecified | Expr::Ident(_) => Err((id, "it cannot be read".to_owned())),
        }
    }

    /// Notes a read of a chain: the whole value at its end, or only its kind.
    fn chain(&mut self, id: u64, root: &str, members: &[&str], is_whole: bool) -> Checked {
        if members.len() > Projection::STEPS_MAX {
            let max = Projection::STEPS_MAX;
            return Err((id, format!("it names a member more than {max} levels deep")));
        }
        match root {
            "object" => self.object.add(members, is_whole),
            "old" => self.old.add(members, is_whole),
            "change" => self.names_change = true,
            ACCUMULATOR => {}
            root if self.items.iter().any(|item| item == root) => {}
            root if TYPES.contains(&root) && members.is_empty() => {}
            root => {
                let problem = format!("{root:?} is not known; there are object, old and change");
                return Err((id, problem));
            }
        }
        Ok(())
    }

    fn call(&mut self, id: u64, call: &CallExpr, level: usize) -> Checked {
        let is_function = call.func_name.starts_with(|char: char| char.is_ascii_alphabetic());
        if is_function && !FUNCTIONS.contains(&&*call.func_name) {
            let (name, known) = (&call.func_name, FUNCTIONS.join(", "));
            return Err((id, format!("the function {name:?} is not offered; there are {known}")));
        }
        if let Some(part) = compared_with_null(call)
            && let Some((root, members)) = chain(part)
        {
            return self.chain(root_of(part), root, &members, false);
        }
        let mut parts = call.target.as_deref().into_iter().chain(&call.args);
        parts.try_for_each(|part| self.read(part, level + 1))
    }

    fn comprehension(&mut self, id: u64, of: &ComprehensionExpr, level: usize) -> Checked {
        if ["object", "old", "change"].contains(&&*of.iter_var) {
            return Err((id, format!("{:?} cannot be a loop's variable", of.iter_var)));
        }
        self.read(&of.iter_range, level + 1)?;
        self.items.push(of.iter_var.clone());
        for part in [&of.accu_init, &of.loop_cond, &of.loop_step, &of.result] {
            self.read(part, level + 1)?;
        }
        self.items.pop();
        Ok(())
    }
}

/// The compared expression in `x == null` and `x != null`.
fn compared_with_null(call: &CallExpr) -> Option<&IdedExpr> {
    if call.func_name != operators::EQUALS && call.func_name != operators::NOT_EQUALS {
        return None;
    }
    let is_null = |part: &IdedExpr| matches!(part.expr, Expr::Literal(LiteralValue::Null));
    match &call.args[..] {
        [part, null] if is_null(null) => Some(part),
        [null, part] if is_null(null) => Some(part),
        _ => None,
    }
}
