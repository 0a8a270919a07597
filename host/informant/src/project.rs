//! Plugin projects: folders with a plugin's sources. `informant plugin new` writes them, `plugin build` builds them,
//! and `dev` follows them.
//!
//! Decisions are synchronous: the language of a folder ([`recognition`]), the commands of its build ([`recipe`]), its
//! source files ([`watch::sources`]), the changes that are saves ([`watch::own_writes`]), and the effect of a save
//! during a build ([`rebuild`]). The other files carry them out.

mod artifact;
mod build;
mod build_lock;
mod builder;
mod language;
mod process;
mod rebuild;
mod recipe;
mod recognition;
mod template;
mod template_kind;
mod toolchain;
mod watch;

pub(crate) use artifact::{place, place_or_remove};
pub(crate) use build::{Build, ShownLines};
pub(crate) use builder::{Builder, Loads, build_beside};
pub(crate) use language::Language;
pub(crate) use recipe::Mode;
pub(crate) use recognition::{Project, projects_in};
pub(crate) use template::{new_project, project_name};
pub(crate) use template_kind::Template;
pub(crate) use toolchain::Toolchain;

use std::time::Duration;

/// How long tools may take.
#[derive(clap::Args, Debug)]
pub(crate) struct BuildTimeArgs {
    /// Seconds that a build may take, with its downloads. Then it is stopped.
    #[arg(long, value_name = "SECONDS", default_value_t = 900, value_parser = clap::value_parser!(u32).range(1..=7200))]
    build_time: u32,
}

impl BuildTimeArgs {
    pub(crate) fn build_time(&self) -> Duration {
        Duration::from_secs(self.build_time.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        time: BuildTimeArgs,
    }

    #[track_caller]
    fn check(arguments: &[&str], seconds: Option<u64>) {
        let parsed = Line::try_parse_from(["it"].iter().chain(arguments)).ok();
        assert_eq!(parsed.map(|line| line.time.build_time().as_secs()), seconds, "{arguments:?}");
    }

    #[test]
    fn time_of_a_build_has_bounds() {
        check(&[], Some(900));
        check(&["--build-time", "1"], Some(1));
        check(&["--build-time", "0"], None);
        check(&["--build-time", "7200"], Some(7_200));
        check(&["--build-time", "7201"], None);
    }
}
