//! CEL expressions over `pod`.

use std::sync::Arc;

use ::cel::{
    IdedExpr, Program,
    common::ast::{EntryExpr, Expr, MapExpr, StructExpr},
};

use crate::policy::{
    compile::Place,
    error::{Faults, Position, nearest},
    set::CelExpression,
};

/// The only variable.
const VARIABLE: &str = "pod";

/// Functions that are suggested.
const FUNCTIONS: [&str; 12] = [
    "all",
    "contains",
    "endsWith",
    "exists",
    "exists_one",
    "filter",
    "has",
    "map",
    "matches",
    "size",
    "startsWith",
    "string",
];

/// Longest source that is compiled, in bytes: an expression about one Pod is far below it, and the parser
/// works by recursion.
const LONGEST: usize = 4096;

/// Deepest nesting of brackets that is compiled, for the same reason.
const DEEPEST: usize = 32;

/// Compiles an expression.
pub fn compile(source: &str, place: Place<'_>, faults: &mut Faults<'_>) -> Option<Arc<CelExpression>> {
    // The end of a block is a line of its own, where no fault should be shown.
    let source = source.trim_end();
    if let Some(why) = too_big(source) {
        faults.push(place.at(), "bad CEL".to_owned(), why, None);
        return None;
    }
    let program = match Program::compile(source) {
        Ok(program) => program,
        Err(errors) => {
            for error in errors.errors {
                let at = within(place, error.pos);
                let why = error.msg.lines().next().unwrap_or("it cannot be parsed").to_owned();
                faults.push(at, "bad CEL".to_owned(), why, None);
            }
            return None;
        }
    };
    let known = are_names_known(source, &program, place, faults);
    known.then(|| Arc::new(CelExpression { source: source.to_owned(), program }))
}

fn are_names_known(source: &str, program: &Program, place: Place<'_>, faults: &mut Faults<'_>) -> bool {
    let mut unknown = Vec::new();
    free_variables(program.expression(), &mut vec![VARIABLE], &mut unknown);
    for (name, id) in &unknown {
        let start = program.source_info().offset_for(*id).map_or(0, |(start, _)| start as usize);
        let what = format!("bad CEL: unknown variable `{name}`");
        let why = format!("an expression is about `{VARIABLE}` and knows nothing else");
        faults.push(inline(source, place, start), what, why, nearest(name, [VARIABLE]));
    }
    let references = program.references();
    let mut functions: Vec<&str> = references.functions().into_iter().filter(|name| !exists(name)).collect();
    functions.sort_unstable();
    for name in &functions {
        let at = source.find(name).map_or(place.at(), |start| inline(source, place, start));
        let why = "CEL's standard library has none of that name";
        faults.push(at, format!("bad CEL: unknown function `{name}`"), why, nearest(name, FUNCTIONS));
    }
    unknown.is_empty() && functions.is_empty()
}

/// Names that nothing binds, with the ids of their expressions. The library's own list of references
/// counts the variables of comprehensions as well.
fn free_variables<'e>(expression: &'e IdedExpr, bound: &mut Vec<&'e str>, free: &mut Vec<(&'e str, u64)>) {
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) => {}
        Expr::Ident(name) => {
            if !name.starts_with('@') && !bound.contains(&name.as_str()) {
                free.push((name, expression.id));
            }
        }
        Expr::Call(call) => {
            let parts = call.target.as_deref().into_iter().chain(&call.args);
            parts.for_each(|part| free_variables(part, bound, free));
        }
        Expr::Select(select) => free_variables(&select.operand, bound, free),
        Expr::List(list) => list.elements.iter().for_each(|element| free_variables(element, bound, free)),
        Expr::Map(MapExpr { entries }) | Expr::Struct(StructExpr { entries, .. }) => {
            for entry in entries {
                match &entry.expr {
                    EntryExpr::StructField(field) => free_variables(&field.value, bound, free),
                    EntryExpr::MapEntry(pair) => {
                        free_variables(&pair.key, bound, free);
                        free_variables(&pair.value, bound, free);
                    }
                }
            }
        }
        Expr::Comprehension(comprehension) => {
            free_variables(&comprehension.iter_range, bound, free);
            let outer = bound.len();
            bound.extend([comprehension.iter_var.as_str(), comprehension.accu_var.as_str()]);
            bound.extend(comprehension.iter_var2.as_deref());
            for part in [
                &comprehension.accu_init,
                &comprehension.loop_cond,
                &comprehension.loop_step,
                &comprehension.result,
            ] {
                free_variables(part, bound, free);
            }
            bound.truncate(outer);
        }
    }
}

/// Whether there is a function of that name. The library does not list its functions, but it tells a call of
/// one that does not exist from a wrong call of one that does. Operators have names that nobody can write.
fn exists(name: &str) -> bool {
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return true;
    }
    let context = ::cel::Context::default();
    let answers = [format!("{name}()"), format!("''.{name}()")]
        .map(|call| Program::compile(&call).ok().map(|program| program.execute(&context)));
    answers
        .into_iter()
        .any(|answer| !matches!(answer, None | Some(Err(::cel::ExecutionError::UndeclaredReference(_)))))
}

fn too_big(source: &str) -> Option<String> {
    if source.trim().is_empty() {
        return Some("the expression is empty".to_owned());
    }
    if source.len() > LONGEST {
        return Some(format!("it has {} bytes, at most {LONGEST} are read", source.len()));
    }
    let (mut open, mut deepest, mut operators) = (0_usize, 0, 0_usize);
    for character in source.chars() {
        match character {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            // Prefix and conditional operators nest as brackets do.
            '!' | '-' | '?' => operators += 1,
            _ => {}
        }
        deepest = deepest.max(open);
    }
    (deepest > DEEPEST || operators > 4 * DEEPEST).then(|| format!("it nests deeper than {DEEPEST}"))
}

/// The place of a line and column of the expression, both from 1. A block's place is that of its first
/// character, and its lines begin at one column.
fn within(place: Place<'_>, (line, column): (isize, isize)) -> Position {
    let down = |from: isize| u64::try_from(from.max(1) - 1).unwrap_or_default();
    let at = place.at();
    Position { line: at.line + down(line), column: at.column + down(column) }
}

/// The place of a byte of the expression.
fn inline(source: &str, place: Place<'_>, offset: usize) -> Position {
    let before = source.get(..offset).unwrap_or_default();
    let at = place.at();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64;
    Position { line: at.line + before.matches('\n').count() as u64, column: at.column + column }
}
