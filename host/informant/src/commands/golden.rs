//! Golden files: shows the output of a run, compares it with a kept file, or keeps it.

use super::ask::print;
use crate::cli::GoldenArgs;
use crate::logging::escaped;
use anyhow::{Context, Result, bail};
use similar::TextDiff;
use std::fs;
use std::path::Path;

/// The number of lines around a difference that are shown with it.
const CONTEXT_LINES: usize = 3;

/// Shows, compares or keeps the output of a run. Output that was cut off is shown and is a failure; it is never kept.
pub(super) fn settle(text: &str, cut: Option<&str>, args: &GoldenArgs) -> Result<()> {
    if let Some(why) = cut {
        print(text.trim_end());
        bail!("the run ended early: {why}");
    }
    let Some(file) = &args.golden else {
        print(text.trim_end());
        return Ok(());
    };
    if args.update {
        fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))?;
        print(&format!("{} is written", file.display()));
        return Ok(());
    }
    let kept = fs::read_to_string(file).with_context(|| {
        format!("{} cannot be read; with --update it is written", file.display())
    })?;
    match difference(file, &kept, text) {
        None => {
            print(&format!("as in {}: {} lines", file.display(), text.lines().count()));
            Ok(())
        }
        Some(difference) => {
            print(&escaped(difference.trim_end()));
            bail!("the run is not as in {}; if it should be, --update writes it", file.display());
        }
    }
}

/// The difference from the kept output to the new output. `None` if they are equal.
fn difference(file: &Path, kept: &str, found: &str) -> Option<String> {
    if kept == found {
        return None;
    }
    let difference = TextDiff::from_lines(kept, found);
    let mut shown = difference.unified_diff();
    let shown = shown.context_radius(CONTEXT_LINES).header(&file.display().to_string(), "this run");
    Some(shown.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_difference_is_shown_with_what_stands_around_it() {
        let file = Path::new("a.golden");
        assert_eq!(difference(file, "a\nb\n", "a\nb\n"), None);
        let shown = difference(file, "a\nb\nc\n", "a\nx\nc\n").expect("they differ");
        expect![[r#"
            --- a.golden
            +++ this run
            @@ -1,3 +1,3 @@
             a
            -b
            +x
             c
        "#]]
        .assert_eq(&shown);
    }

    #[test]
    fn a_run_is_kept_compared_and_refused_if_it_differs() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("a.golden");
        let args = |update| GoldenArgs { golden: Some(file.clone()), update };
        let told = |result: Result<()>| result.err().map(|error| error.to_string());
        let missing = told(settle("a\n", None, &args(false))).expect("it is not there");
        assert!(missing.ends_with("with --update it is written"), "{missing}");
        assert_eq!(told(settle("a\n", None, &args(true))), None);
        assert_eq!(told(settle("a\n", None, &args(false))), None);
        let differs = told(settle("b\n", None, &args(false))).expect("it differs");
        assert!(differs.ends_with("--update writes it"), "{differs}");
        let cut = told(settle("c\n", Some("too long"), &args(true)));
        assert_eq!(cut.as_deref(), Some("the run ended early: too long"));
        assert_eq!(
            fs::read_to_string(&file).expect("it is there"),
            "a\n",
            "what was cut off is not kept"
        );
    }
}
