//! A deliberate mistake in the core, as an edit of its sources. The simulation must notice each of them. The edits are
//! in `mutations/`, one in each file; production code has no hooks for them.

use std::path::Path;

/// One edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The name of its file, without the ending.
    pub name: String,
    /// The mistake in words.
    pub what: String,
    /// The changed source file, from the repository's root.
    pub file: String,
    from: String,
    to: String,
}

impl Mutation {
    /// Parses `# what`, `file path`, `--- from`, lines, `--- to`, lines.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let malformed = |what: &str| format!("mutation {name}: {what}");
        let (head, rest) = text.split_once("--- from\n").ok_or_else(|| malformed("no from"))?;
        let (from, to) = rest.split_once("\n--- to\n").ok_or_else(|| malformed("no to"))?;
        let line = |prefix: &str| {
            let found = head.lines().find_map(|line| line.strip_prefix(prefix));
            found.map(str::to_owned).ok_or_else(|| malformed("its head is not complete"))
        };
        let to = to.strip_suffix('\n').unwrap_or(to);
        let (what, file) = (line("# ")?, line("file ")?);
        Ok(Self { name: name.to_owned(), what, file, from: from.to_owned(), to: to.to_owned() })
    }

    /// All mutations in a directory, by name.
    pub fn read_all(directory: &Path) -> Result<Vec<Self>, String> {
        let entries = std::fs::read_dir(directory).map_err(|error| error.to_string())?;
        let mut mutations = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
            mutations.push(Self::parse(&name.unwrap_or_default(), &text)?);
        }
        mutations.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(mutations)
    }

    /// The source with the mistake. An error unless the source contains the text exactly once: then the edit is out of
    /// date.
    pub fn apply(&self, source: &str) -> Result<String, String> {
        match source.matches(&self.from).count() {
            1 => Ok(source.replacen(&self.from, &self.to, 1)),
            times => Err(format!(
                "mutation {}: its text stands {times} times in {}; adapt it to the source",
                self.name, self.file
            )),
        }
    }
}
