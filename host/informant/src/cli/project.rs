//! The arguments of `informant plugin new` and `informant plugin build`.

use super::{BuildTimeArgs, CompilerArgs, ConfigArgs};
use crate::project::{Language, Template};
use std::path::PathBuf;

/// What is to be made.
#[derive(clap::Args, Debug)]
pub(crate) struct NewArgs {
    /// The plugin's name, and that of the folder that is made for it.
    #[arg(value_name = "NAME", required_unless_present = "list")]
    pub(crate) name: Option<String>,
    /// The language that the plugin is to be written in.
    #[arg(long, value_enum, value_name = "LANGUAGE", required_unless_present = "list")]
    pub(crate) lang: Option<Language>,
    /// The kind of plugin to begin with.
    #[arg(long, value_enum, value_name = "TEMPLATE", default_value_t = Template::Handler)]
    pub(crate) template: Template,
    /// Show the languages, with the tools that each needs and the downloads of its first build.
    #[arg(long, conflicts_with_all = ["name", "lang"])]
    pub(crate) list: bool,
}

/// What is to be built, and where to.
#[derive(clap::Args, Debug)]
pub(crate) struct BuildArgs {
    /// The plugin's project: a folder with Cargo.toml, go.mod, package.json, app.py, a .c file that defines plugin_describe, or a .zig file that calls informant.plugin.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) project: PathBuf,
    /// Where the plugin file goes [default: build/NAME.wasm in the project].
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) time: BuildTimeArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
}
