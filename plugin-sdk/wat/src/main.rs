//! `wat2plugin IN.wat OUT.wasm`: assembles a plugin in the WebAssembly text format, with no other tool than cargo. The
//! output appears complete or not at all, so it may be written directly into a directory that a host watches. The host
//! checks whether the module is valid.
//!
//! A line `;; include FILE` stands for the text of that file. The path is relative to the file with the line. Included
//! files include no further files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).map(PathBuf::from).collect();
    let result = match arguments.as_slice() {
        [input, output] => assemble(input, output),
        _ => Err("usage: wat2plugin IN.wat OUT.wasm".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            report(&message);
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stderr, reason = "a command line tool reports on stderr")]
fn report(message: &str) {
    eprintln!("wat2plugin: {message}");
}

fn assemble(input: &Path, output: &Path) -> Result<(), String> {
    let text = with_included(input)?;
    let bytes = wat::Parser::new().parse_str(Some(input), &text).map_err(|e| e.to_string())?;
    write_at_once(output, &bytes).map_err(|e| format!("cannot write {}: {e}", output.display()))
}

/// The text with its included files.
fn with_included(input: &Path) -> Result<String, String> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
    };
    let mut text = String::new();
    for line in read(input)?.lines() {
        match line.trim_start().strip_prefix(";; include ") {
            Some(file) => text.push_str(&read(&input.with_file_name(file.trim_end()))?),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    Ok(text)
}

/// Writes a file beside this one and renames it: a watching host sees the old or the new content, never a part.
fn write_at_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".tmp");
    let unfinished = path.with_file_name(name);
    fs::write(&unfinished, bytes)?;
    fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(test: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("wat2plugin-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        folder
    }

    /// Assembles a text over an old file. Checks the result, the file's content, and the names of the files in the
    /// folder.
    #[track_caller]
    fn check(test: &str, text: &str, expected: Result<(), &str>, holds: &[u8]) {
        let folder = folder(test);
        let (input, output) = (folder.join("in.wat"), folder.join("out.wasm"));
        fs::write(&input, text).expect("the text is written");
        fs::write(&output, b"old").expect("the old file is written");
        let result = assemble(&input, &output);
        match (&result, expected) {
            (Ok(()), Ok(())) => {}
            (Err(message), Err(part)) => assert!(message.contains(part), "{message}"),
            _ => panic!("{result:?} is not {expected:?}"),
        }
        assert_eq!(fs::read(&output).expect("the output is there"), holds);
        assert_eq!(fs::read_dir(&folder).expect("the folder is there").count(), 2);
        fs::remove_dir_all(&folder).expect("the folder is removed");
    }

    #[test]
    fn a_module_replaces_the_old_file() {
        check("good", "(module)", Ok(()), b"\0asm\x01\0\0\0");
    }

    #[test]
    fn what_a_text_includes_stands_in_its_place() {
        let part = folder("part").join("memory.wat");
        fs::write(&part, "(memory 1)").expect("the part is written");
        let text = format!("(module\n  ;; include {}\n)", part.display());
        check("includes", &text, Ok(()), b"\0asm\x01\0\0\0\x05\x03\x01\0\x01");
        check("misses", "(module\n;; include not-there.wat\n)", Err("not-there.wat"), b"old");
        fs::remove_dir_all(part.parent().expect("a folder")).expect("the folder is removed");
    }

    #[test]
    fn a_wrong_text_is_pointed_at_and_leaves_the_old_file() {
        check("wrong", "(module\n  (fnuc))", Err("in.wat:2:4"), b"old");
    }
}
