//! The size of files and functions: a file is one idea, a function is one screen.

use crate::repository::Source;

/// Lines of a file without its tests.
const FILE_LINES_MAX: usize = 400;

/// Lines of a function, from `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 60;

/// A function and its length.
struct Function {
    name: String,
    lines: usize,
}

/// Complaints about files and functions that are too long, and about exceptions that are no longer needed.
pub fn complaints(
    sources: &[Source],
    files: &[(&str, usize)],
    functions: &[(&str, usize)],
) -> Vec<String> {
    let mut long_files = Vec::new();
    let mut long_functions = Vec::new();
    for source in sources.iter().filter(|source| !is_test(&source.path)) {
        let code = without_tests(&source.code);
        long_files.push((source.path.clone(), code.lines().count()));
        for function in self::functions(code) {
            long_functions.push((format!("{}: {}", source.path, function.name), function.lines));
        }
    }
    long_files.retain(|(_, lines)| *lines > FILE_LINES_MAX);
    long_functions.retain(|(_, lines)| *lines > FUNCTION_LINES_MAX);
    let mut complaints = compare(&long_files, files, FILE_LINES_MAX);
    complaints.extend(compare(&long_functions, functions, FUNCTION_LINES_MAX));
    complaints
}

/// A file that is nothing but tests may be as long as there are cases.
pub fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

fn compare(found: &[(String, usize)], allowed: &[(&str, usize)], max: usize) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, lines) in found {
        match allowed.iter().find(|(allowed, _)| allowed == name) {
            None => complaints.push(format!("{name} has {lines} lines, more than {max}")),
            Some((_, known)) if lines > known => {
                complaints.push(format!("{name} has grown from {known} to {lines} lines"));
            }
            Some((_, known)) if lines < known => {
                complaints.push(format!("{name} has {lines} lines now: lower its {known}"));
            }
            Some(_) => {}
        }
    }
    for (name, _) in allowed {
        if !found.iter().any(|(found, _)| found == name) {
            complaints.push(format!("{name} needs no exception any more: take it off the list"));
        }
    }
    complaints
}

/// In-file tests come last, by house style.
pub fn without_tests(code: &str) -> &str {
    code.find("\n#[cfg(test)]\nmod ").map_or(code, |end| &code[..=end])
}

/// Every function with a body. A nested function counts for itself and for the outer one.
fn functions(code: &str) -> Vec<Function> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices("fn ")
        .filter(|(at, _)| !code[..*at].ends_with(is_word))
        .filter_map(|(at, _)| {
            let name: String = code[at + 3..].chars().take_while(|&one| is_word(one)).collect();
            let length = body_end(&code[at..])?;
            let lines = code[at..at + length].lines().count();
            (!name.is_empty()).then_some(Function { name, lines })
        })
        .collect()
}

/// The position of the body's closing brace. `None` for a declaration or a type such as `fn (u8)`.
fn body_end(code: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut brackets = 0usize;
    for (at, character) in code.char_indices() {
        match character {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.checked_sub(1)?,
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            ';' if depth == 0 && brackets == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(code: String) -> Source {
        Source { path: "host/cache/src/a.rs".to_owned(), code }
    }

    fn function(lines: usize) -> String {
        format!("pub fn long(a: [u8; 2]) -> u8 {{\n{}}}\n", "    a();\n".repeat(lines - 2))
    }

    #[test]
    fn long_function_is_complained_of() {
        assert_eq!(complaints(&[source(function(60))], &[], &[]), [""; 0]);
        let complaints = complaints(&[source(function(61))], &[], &[]);
        assert_eq!(complaints, ["host/cache/src/a.rs: long has 61 lines, more than 60"]);
    }

    #[test]
    fn long_file_is_complained_of_without_its_tests() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(500));
        assert_eq!(complaints(&[source("\n".repeat(300) + &tests)], &[], &[]), [""; 0]);
        let complaints = complaints(&[source("\n".repeat(401) + &tests)], &[], &[]);
        assert_eq!(complaints, ["host/cache/src/a.rs has 401 lines, more than 400"]);
    }

    #[test]
    fn exceptions_only_shrink() {
        let listed = |lines| [("host/cache/src/a.rs: long", lines)];
        let check = |listed: &[(&str, usize)], expect: &[&str]| {
            assert_eq!(complaints(&[source(function(70))], &[], listed), expect);
        };
        check(&listed(70), &[]);
        check(&listed(69), &["host/cache/src/a.rs: long has grown from 69 to 70 lines"]);
        check(&listed(71), &["host/cache/src/a.rs: long has 70 lines now: lower its 71"]);
        let gone = complaints(&[], &[], &listed(70));
        assert_eq!(gone.len(), 1, "{gone:?}");
        assert!(gone[0].contains("take it off the list"), "{gone:?}");
    }

    #[test]
    fn declarations_have_no_length() {
        assert!(functions("trait T { fn a(&self) -> u8; }").is_empty());
        assert_eq!(functions("fn a(f: fn(u8)) { b(); }").len(), 1);
    }
}
