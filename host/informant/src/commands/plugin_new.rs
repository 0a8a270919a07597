//! `informant plugin new`: writes a project that builds, tests and runs at once, in any folder.

use super::ask::{print, table};
use crate::cli::NewArgs;
use crate::project::{Language, Template, new_project, project_name};
use anyhow::Result;
use informant_runtime::PluginName;
use std::path::PathBuf;

/// Writes the project and prints the next steps.
pub(crate) fn new(args: &NewArgs) -> Result<()> {
    let (Some(name), Some(language)) = (&args.name, args.lang) else {
        print(&languages());
        return Ok(());
    };
    let name = project_name(name)?;
    new_project(&PathBuf::from(name.as_str()), language, args.template, &name)?;
    print(&next(language, args.template, &name));
    Ok(())
}

/// The description of the project, and the next steps.
fn next(language: Language, template: Template, name: &PluginName) -> String {
    let facts = language.facts();
    let test = facts.test.replace("NAME", name.as_str());
    format!(
        "{name} is a plugin in {}: {}. Its SDK is in {name}/sdk.\nIt needs {}. The first build fetches {}.\n\nNext:\n\n  \
         cd {name}\n  informant plugin build    # leaves build/{name}.wasm\n  informant dev .           # runs it with an embedded cluster, and again after \
         every save\n\nIts own tests: {test}",
        facts.title,
        template.does(),
        facts.toolchain,
        facts.fetches
    )
}

fn languages() -> String {
    let row = |language: Language| {
        let facts = language.facts();
        let cells = [facts.key, facts.title, facts.toolchain, facts.fetches];
        cells.map(str::to_owned).to_vec()
    };
    let rows: Vec<_> = Language::ALL.into_iter().map(row).collect();
    table(&["--lang", "LANGUAGE", "NEEDS", "THE FIRST BUILD FETCHES"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn what_to_do_next_names_the_project() {
        let name: PluginName = "pod-watch".parse().expect("a name");
        for language in Language::ALL {
            let next = next(language, Template::Handler, &name);
            assert!(!next.contains("hello") && !next.contains("NAME"), "{next}");
        }
    }

    #[test]
    fn list_has_what_the_option_takes() {
        let shown = languages();
        let listed: Vec<&str> =
            shown.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
        let values = Language::value_variants().iter().filter_map(|it| it.to_possible_value());
        let taken: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        assert_eq!(listed, taken);
    }
}
