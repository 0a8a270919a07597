//! Text that stays visible below the log of a terminal.
//!
//! The log's writer erases the footer before each write and draws it again after the write. The terminal's mode does
//! not change, so nothing has to be restored, however the process ends.

use anstyle::Style;
use parking_lot::Mutex;
use rustix::termios::tcgetwinsize;
use std::io::{self, IsTerminal};

/// The least number of rows for the log. A smaller terminal gets no footer.
const LOG_ROWS_MIN: usize = 8;

static FOOTER: Mutex<Option<Footer>> = Mutex::new(None);

/// Shows the text below the log, from the next log line on. Returns false if standard output is no terminal with a
/// movable cursor, or has too few rows.
pub(crate) fn pin(text: &str) -> bool {
    let Some(size) = terminal_size() else { return false };
    let lines = text.lines().map(str::to_owned).collect();
    let footer = Footer { lines, is_coloured: super::is_coloured(), drawn: Vec::new() };
    if !footer.fits(size) {
        return false;
    }
    *FOOTER.lock() = Some(footer);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        unpin();
        before(panic);
    }));
    true
}

/// Erases the footer for good: the next text takes its place.
pub(crate) fn unpin() {
    // If the thread that draws panics, it must not wait for its own lock.
    let Some(footer) = FOOTER.try_lock().and_then(|mut footer| footer.take()) else { return };
    let _ = write_all(footer.erased(size().columns).as_bytes());
}

/// Writes text of the log, above the footer if there is one.
pub(super) fn write_log(text: &[u8]) -> io::Result<()> {
    match &mut *FOOTER.lock() {
        Some(footer) => write_all(&footer.below(text, size())),
        None => write_all(text),
    }
}

fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The size of the terminal. Without a terminal it has no rows.
fn size() -> TerminalSize {
    let size = tcgetwinsize(rustix::stdio::stdout()).ok();
    let (columns, rows) = size.map_or((0, 0), |size| (size.ws_col.into(), size.ws_row.into()));
    TerminalSize { columns, rows }
}

/// The size of standard output. None: it is no terminal with a movable cursor, or the terminal does not say its size.
pub(crate) fn terminal_size() -> Option<TerminalSize> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    (!is_dumb && io::stdout().is_terminal()).then(size).and_then(TerminalSize::known)
}

/// Characters of a row, and rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TerminalSize {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl TerminalSize {
    /// None without rows or columns: a terminal that nobody has sized, as of a container, has 0 of both.
    fn known(self) -> Option<Self> {
        (self.columns > 0 && self.rows > 0).then_some(self)
    }
}

struct Footer {
    lines: Vec<String>,
    is_coloured: bool,
    /// The columns of each footer line on the screen. The cursor is at the start of the row below them.
    drawn: Vec<usize>,
}

impl Footer {
    /// The bytes that replace the footer by this text and the footer below it.
    fn below(&mut self, text: &[u8], size: TerminalSize) -> Vec<u8> {
        let mut bytes = self.erased(size.columns).into_bytes();
        bytes.extend_from_slice(text);
        self.drawn.clear();
        // There is no place for the footer within a line. The next write ends the line.
        if text.ends_with(b"\n") && self.fits(size) {
            bytes.extend(self.drawing(size.columns).into_bytes());
        }
        bytes
    }

    fn fits(&self, size: TerminalSize) -> bool {
        let rows = self.lines.iter().map(|line| rows(line.chars().count(), size.columns));
        size.columns > 0 && size.rows >= rows.sum::<usize>() + 1 + LOG_ROWS_MIN
    }

    /// Moves the cursor to the footer's first row and erases everything from there on. A terminal that has become
    /// narrower has wrapped the rows.
    fn erased(&self, columns: usize) -> String {
        match self.drawn.iter().map(|drawn| rows(*drawn, columns)).sum::<usize>() {
            0 => String::new(),
            rows => format!("\r\u{1b}[{rows}A\u{1b}[J"),
        }
    }

    /// A rule and the lines, the first one bold. The terminal wraps long lines: a command that is cut helps no reader.
    fn drawing(&mut self, columns: usize) -> String {
        let (dim, bold, plain) = match self.is_coloured {
            true => (Style::new().dimmed(), Style::new().bold(), Style::new()),
            false => (Style::new(), Style::new(), Style::new()),
        };
        let mut drawing = String::new();
        let rule = "─".repeat(columns);
        let styles = [dim, bold].into_iter().chain(std::iter::repeat(plain));
        for (line, style) in std::iter::once(&rule).chain(&self.lines).zip(styles) {
            drawing += &format!("{style}{line}{style:#}\n");
            self.drawn.push(line.chars().count());
        }
        drawing
    }
}

/// The rows of a line with so many characters.
fn rows(characters: usize, columns: usize) -> usize {
    characters.div_ceil(columns.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The footer `next` and `more` below each text in turn, on terminals of these columns and rows.
    #[track_caller]
    fn check(writes: &[(&str, usize, usize)], expect: &[&str]) {
        let lines = ["next", "more"].map(str::to_owned).to_vec();
        let mut footer = Footer { lines, is_coloured: false, drawn: Vec::new() };
        let written = writes.iter().map(|&(text, columns, rows)| {
            let bytes = footer.below(text.as_bytes(), TerminalSize { columns, rows });
            String::from_utf8(bytes).expect("text").replace('\u{1b}', "^")
        });
        assert_eq!(written.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn a_terminal_without_rows_or_columns_has_no_known_size() {
        let is_known = |columns, rows| TerminalSize { columns, rows }.known().is_some();
        let found =
            [(0, 0), (80, 0), (0, 24), (1, 1)].map(|(columns, rows)| is_known(columns, rows));
        assert_eq!(found, [false, false, false, true]);
    }

    #[test]
    fn each_write_replaces_the_footer() {
        let expect = ["a\n─────\nnext\nmore\n", "\r^[3A^[Jb\n─────\nnext\nmore\n"];
        check(&[("a\n", 5, 24), ("b\n", 5, 24)], &expect);
    }

    #[test]
    fn a_low_terminal_has_only_the_log() {
        let (low, high) = (2 + LOG_ROWS_MIN, 3 + LOG_ROWS_MIN);
        let drawn = "a\n────\nnext\nmore\n";
        check(&[("b\n", 4, low), ("a\n", 4, high)], &["b\n", drawn]);
        check(&[("a\n", 4, high), ("b\n", 4, low)], &[drawn, "\r^[3A^[Jb\n"]);
    }

    #[test]
    fn a_narrow_terminal_wraps_the_lines_and_needs_a_row_more_for_each() {
        let (low, high) = (4 + LOG_ROWS_MIN, 5 + LOG_ROWS_MIN);
        let expect = ["a\n", "b\n──\nnext\nmore\n", "\r^[5A^[Jc\n"];
        check(&[("a\n", 2, low), ("b\n", 2, high), ("c\n", 2, low)], &expect);
    }

    #[test]
    fn the_lines_of_the_demo_fit_into_80_columns() {
        let demo = include_str!("../../../../examples/demo/demo.sh");
        let (_, rest) = demo.split_once("\nhint='").expect("the demo's text");
        let (hint, _) = rest.split_once("'\n").expect("its end");
        let long: Vec<&str> = hint.lines().filter(|line| line.chars().count() > 78).collect();
        assert_eq!(long, [""; 0]);
        assert!(hint.lines().any(|line| line == "  git checkout plugins/event-printer"), "{hint}");
    }

    #[test]
    fn wrapped_rows_of_a_narrower_terminal_are_erased() {
        let wide = "a\n────────\nnext\nmore\n";
        check(&[("a\n", 8, 24), ("b\n", 3, 24)], &[wide, "\r^[7A^[Jb\n───\nnext\nmore\n"]);
        check(&[("a\n", 8, 24), ("b\n", 4, 24)], &[wide, "\r^[4A^[Jb\n────\nnext\nmore\n"]);
    }

    #[test]
    fn an_unfinished_line_has_no_footer_below_it() {
        check(&[("a", 3, 24), ("b\n", 3, 24)], &["a", "b\n───\nnext\nmore\n"]);
    }
}
