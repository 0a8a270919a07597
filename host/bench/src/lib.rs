//! The end-to-end benchmark: a load server that plays a cluster's API, contenders that follow it, and a runner that
//! measures them in turn and writes the report.
//!
//! A contender is a process. The host is the real program with a plugin; the others are programs of ours around
//! other people's informers (`comparators/`), with the settings that suit them best.

pub mod contender;
pub mod crowd;
pub mod idle;
pub mod languages;
pub mod load;
pub mod load_server;
pub mod machine;
pub mod measure;
pub mod parts;
pub mod programs;
pub mod report;
pub mod resources;
pub mod results;
pub mod session;
pub mod started;
pub mod stolen;
pub mod subject;
pub mod watchers;

use std::io::{BufRead, BufReader};

use anyhow::Context;
use informant_e2e::child::Child;

/// The first line that a child writes: that it is ready, and where.
fn first_line(child: &mut Child) -> anyhow::Result<String> {
    let stdout = child.take_output().0.context("its output is not a pipe")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).context("read the first line")?;
    Ok(line.trim_end().to_owned())
}
