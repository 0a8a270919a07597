//! The place in a guest where a call ended: the names of its functions, innermost first, as the plugin's author knows
//! them.
//!
//! The names come from the module's name section; a stripped guest has numbers. Functions of the language's runtime
//! that end a program are left out, so that the first name is the code at fault.

use crate::one_line::one_line;
use std::fmt::{self, Write};

/// The most frames that are read: those of a panic take a dozen before the first one of the guest's own code.
pub(crate) const FRAMES_SEEN: usize = 48;
/// The most frames that are logged, a line each.
pub(crate) const FRAMES_LOGGED: usize = 16;
/// The most frames in an error, which is one line.
const FRAMES_IN_ERROR: usize = 3;
/// Bytes of one name: names of generic code have no bound.
const NAME_BYTES_MAX: usize = 160;
/// Bytes of a name in the module. Of a longer one the beginning is shown, without demangling.
const MANGLED_BYTES_MAX: usize = 4 << 10;
/// Bytes of a demangled name: short mangled names may expand to megabytes.
const READ_BYTES_MAX: usize = 1 << 10;

/// Names of functions, innermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Backtrace {
    frames: Vec<String>,
}

impl Backtrace {
    /// From the functions' names in the module, or their numbers.
    pub(crate) fn new<'a>(frames: impl Iterator<Item = (Option<&'a str>, u32)>) -> Self {
        let names = frames.take(FRAMES_SEEN).map(|(name, index)| match name {
            Some(name) => readable(name),
            None => format!("function {index}"),
        });
        let mut names: Vec<String> = names.collect();
        // The runtime's last frame called all frames in front of it.
        if let Some(last) = names.iter().rposition(|name| ends_programs(name)) {
            names.drain(..=last);
        }
        let mut frames = Vec::new();
        for same in names.chunk_by(|one, other| one == other) {
            frames.push(match same {
                [name] => name.clone(),
                [name, ..] => format!("{name} ({} times)", same.len()),
                [] => continue,
            });
        }
        frames.truncate(FRAMES_LOGGED);
        Self { frames }
    }

    /// The innermost frames on one line; empty if there are none.
    pub(crate) fn short(&self) -> String {
        match self.in_error() {
            [] => String::new(),
            some => format!(", in {}", some.join(" < ")),
        }
    }

    /// The frames of an error: up to the first one of the SDK, which called the plugin's own code.
    fn in_error(&self) -> &[String] {
        let is_own = |frame: &&String| !frame.starts_with(SDK);
        // Without a frame of the plugin's own, that of the SDK says the most.
        let own = self.frames.iter().take_while(is_own).count().max(1);
        &self.frames[..self.frames.len().min(own).min(FRAMES_IN_ERROR)]
    }

    /// All frames, at most [`FRAMES_LOGGED`], if they do not fit into an error.
    pub(crate) fn beyond_the_error(&self) -> &[String] {
        if self.frames.len() > self.in_error().len() { &self.frames } else { &[] }
    }
}

fn readable(name: &str) -> String {
    if name.len() > MANGLED_BYTES_MAX {
        return one_line(name, NAME_BYTES_MAX).into_owned();
    }
    let mut read = Beginning(String::new());
    // Without the hash of the compilation. An error means that the name is longer.
    let _ = write!(read, "{:#}", rustc_demangle::demangle(name));
    one_line(&read.0, NAME_BYTES_MAX).into_owned()
}

/// The beginning of a text. A longer write fails.
struct Beginning(String);

impl Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = READ_BYTES_MAX.saturating_sub(self.0.len());
        let end = text.floor_char_boundary(room);
        self.0.push_str(&text[..end]);
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The crate of the Rust SDK. Its functions have the same names in every plugin.
const SDK: &str = "informant_plugin::";
/// Names of Rust's and C's runtimes that allocate memory or end a program.
const RUNTIMES: [&str; 10] = [
    "__rustc::",
    "core::panicking::",
    "std::panicking::",
    "std::sys::backtrace::__rust_end_short_backtrace",
    "alloc::alloc::",
    "alloc::raw_vec::",
    "dlmalloc::",
    "talc::",
    "informant_plugin::heap::",
    "abort",
];

/// Whether a function belongs to the code with which Rust or C end a program.
fn ends_programs(name: &str) -> bool {
    let name = name.trim_start_matches('<');
    let checks =
        name.starts_with("core::") && (name.contains("_failed") || name.contains("::panic_"));
    checks || RUNTIMES.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], expect: &[&str], short: &str) {
        let frames = names.iter().map(|name| (Some(*name).filter(|name| *name != "?"), 7));
        let backtrace = Backtrace::new(frames);
        assert_eq!(backtrace.frames, expect);
        assert_eq!(backtrace.short(), short);
    }

    #[test]
    fn names_are_those_of_the_source() {
        check(
            &["_ZN4trap4Trap6handle17h0123456789abcdefE", "_RNvCs1234_4demo4main", "?"],
            &["trap::Trap::handle", "demo::main", "function 7"],
            ", in trap::Trap::handle < demo::main < function 7",
        );
        check(&[], &[], "");
    }

    #[test]
    fn what_ends_a_program_is_left_out() {
        let panic = [
            "__rustc::__rust_abort",
            "std::panicking::rust_panic_with_hook",
            "std::panicking::begin_panic_handler::{{closure}}",
            "core::panicking::panic_fmt",
            "core::option::unwrap_failed",
            "mine::handle",
        ];
        check(&panic, &["mine::handle"], ", in mine::handle");
        check(&["abort", "parse", "handle"], &["parse", "handle"], ", in parse < handle");
        let allocation = [
            "<informant_plugin::heap::LinearMemory as talc::source::Source>::acquire",
            "talc::base::Talc<S,B>::allocate",
            "__rustc::__rust_alloc",
            "mine::handle",
        ];
        check(&allocation, &["mine::handle"], ", in mine::handle");
    }

    #[test]
    fn an_error_ends_where_the_sdk_begins() {
        let sdk = "informant_plugin::export::handle_event::{{closure}}";
        let frames = ["spin", "<mine::Mine as informant_plugin::Plugin>::handle", sdk, "handle"];
        let short = ", in spin < <mine::Mine as informant_plugin::Plugin>::handle";
        check(&frames, &frames, short);
        let all = Backtrace::new(frames.iter().map(|name| (Some(*name), 0)));
        assert_eq!(all.beyond_the_error(), frames, "the log has the others");
        check(&[sdk, "handle"], &[sdk, "handle"], &format!(", in {sdk}"));
    }

    #[test]
    fn what_calls_itself_stands_once() {
        let deep = ["down"; 100];
        check(&deep, &["down (48 times)"], ", in down (48 times)");
        let (one, other) = (["a"; 2], ["b"; 1]);
        check(&[one.as_slice(), &other].concat(), &["a (2 times)", "b"], ", in a (2 times) < b");
    }

    #[test]
    fn it_is_bounded_whatever_the_names_are() {
        let names: Vec<String> = (0..FRAMES_SEEN).map(|n| format!("f{n}")).collect();
        let frames = Backtrace::new(names.iter().map(|name| (Some(name.as_str()), 0)));
        assert_eq!(frames.frames.len(), FRAMES_LOGGED);
        assert_eq!(frames.short(), ", in f0 < f1 < f2");
        let long = "\u{1b}".repeat(1_000);
        let frames = Backtrace::new(std::iter::once((Some(long.as_str()), 0)));
        assert!(frames.short().len() < NAME_BYTES_MAX + 40, "{}", frames.short());
        assert!(!frames.short().contains('\u{1b}'));
    }

    /// A name that refers to itself twice on each of its levels.
    fn expands(levels: usize) -> String {
        let mut name = "_RIC1a".to_owned();
        let mut at = name.len() - 2;
        name.push('j');
        for _ in 0..levels {
            let here = name.len() - 2;
            let back = format!("B{}_", base_62(at));
            name.push_str(&format!("T{back}{back}E"));
            at = here;
        }
        name + "E"
    }

    /// A number in mangled names: empty for 0, one less for others.
    fn base_62(number: usize) -> String {
        const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let Some(mut rest) = number.checked_sub(1) else { return String::new() };
        let mut digits = Vec::new();
        loop {
            digits.push(char::from(DIGITS[rest % 62]));
            rest /= 62;
            if rest == 0 {
                return digits.into_iter().rev().collect();
            }
        }
    }

    #[test]
    fn a_name_that_stands_for_megabytes_is_read_to_its_bound() {
        let name = expands(40);
        let whole = format!("{:#}", rustc_demangle::demangle(&expands(4)));
        assert!(whole.contains("(usize, usize)"), "it refers to itself: {whole}");
        let mut read = Beginning(String::new());
        assert!(write!(read, "{:#}", rustc_demangle::demangle(&name)).is_err());
        assert_eq!(read.0.len(), READ_BYTES_MAX);
        let long = format!("_ZN{}{}E", MANGLED_BYTES_MAX, "a".repeat(MANGLED_BYTES_MAX));
        assert!(readable(&long).starts_with("_ZN4096aaa"));
    }
}
