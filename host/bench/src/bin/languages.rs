//! Measures a plugin in each language, and writes host/bench/LANGUAGES.md and its tables in plugin-sdk/README.md. See `host/bench/README.md`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use informant_bench::languages::{self, Language, LanguagesScale};
use informant_bench::machine::machine;
use informant_bench::programs::Programs;
use informant_bench::session::say;
use informant_e2e::paths;

/// Measures the same plugin in each language: file, load, events, memory.
#[derive(Parser)]
struct Args {
    /// Only these.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Language>,
    /// How often everything is measured, at most: no round begins that would not end within nine minutes.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Tiny sizes: shows that everything works, measures nothing.
    #[arg(long)]
    quick: bool,
    /// Writes both files there, each in its folder.
    #[arg(long, value_name = "DIRECTORY")]
    report: PathBuf,
}

impl Args {
    fn scale(&self) -> LanguagesScale {
        match self.quick {
            true => LanguagesScale {
                rounds: 1,
                pods: 20,
                singles: 5,
                events: 200,
                more: 1,
                settle: Duration::from_millis(100),
            },
            false => LanguagesScale {
                rounds: self.rounds,
                pods: 1_000,
                singles: 300,
                events: 100_000,
                more: 8,
                settle: Duration::from_secs(1),
            },
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let (scale, programs) = (args.scale(), Programs::find()?);
    let languages = if args.only.is_empty() { &Language::ALL[..] } else { &args.only };
    let directory = paths::target_directory().join("bench/languages");
    std::fs::create_dir_all(&directory).context("make a directory for projects")?;
    let rows = languages::measure(languages, &scale, &programs, &directory).await?;
    for file in languages::write(&rows, &scale, &machine(), &args.report)? {
        say(&format!("written: {}", file.display()))?;
    }
    Ok(())
}
