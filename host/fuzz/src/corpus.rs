//! Inputs as text: one a line, with Rust's escapes for bytes, so that a corpus can be read and reviewed.

/// Reads a corpus. Empty lines and lines that begin with `#` are for people.
///
/// # Panics
/// On an escape that there is not: the file is part of the repository.
pub(crate) fn parse(text: &str) -> Vec<Vec<u8>> {
    let lines = text.lines().enumerate();
    let inputs = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    inputs
        .map(|(number, line)| {
            unescape(line).unwrap_or_else(|| panic!("line {} has a bad escape: {line}", number + 1))
        })
        .collect()
}

/// One line of a corpus. The empty input is `\e`, and a first `#` is escaped.
pub(crate) fn escape(input: &[u8]) -> String {
    if input.is_empty() {
        return "\\e".to_owned();
    }
    let mut line = String::with_capacity(input.len());
    for (position, byte) in input.iter().enumerate() {
        match byte {
            // Not `\'` and `\"`, which `escape_ascii` writes: JSON is full of quotes.
            b'"' | b'\'' => line.push(char::from(*byte)),
            b'#' if position == 0 => line.push_str("\\x23"),
            _ => line.push_str(&byte.escape_ascii().to_string()),
        }
    }
    line
}

fn unescape(line: &str) -> Option<Vec<u8>> {
    if line == "\\e" {
        return Some(Vec::new());
    }
    let mut input = Vec::with_capacity(line.len());
    let mut bytes = line.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            input.push(byte);
            continue;
        }
        input.push(match bytes.next()? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'\\' => b'\\',
            b'x' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            _ => return None,
        });
    }
    Some(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_is_a_line_and_comes_back() {
        let inputs: [&[u8]; 5] =
            [b"", b"# no comment", b"{\"a\":'\\n'}\n", &[0, 255, b'\r', b'\t'], "é".as_bytes()];
        for input in inputs {
            let line = escape(input);
            assert_eq!(line.lines().count(), 1, "{line:?}");
            assert_eq!(parse(&line), [input], "{line:?}");
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(parse(&escape(&all)), [all]);
    }

    #[test]
    fn comments_and_empty_lines_are_for_people() {
        assert_eq!(parse("# a fact\n\nab\\x00\n"), [b"ab\0"]);
    }
}
