//! The `informant` program: arguments in, exit code out. The code is 2 for an invalid command line, and 1 for every
//! other failure.

mod access_reviewer;
mod actions;
mod admin;
mod bounded_answers;
mod cli;
mod cluster;
mod cluster_writer;
mod commands;
mod compiler;
mod election;
mod fence;
mod fenced_client;
mod host_configuration;
mod http;
mod logging;
mod manager;
mod metrics;
mod open_files;
mod otlp;
mod outbound;
mod paced_turns;
mod pem_file;
mod project;
mod resource_words;
mod shutdown;
mod task;

use cli::Command;
use logging::LastWords;
use std::process::ExitCode;

/// The global allocator. An informer's objects have all sizes, and several threads create and free them. This
/// allocator returns their memory; the platform's allocator keeps up to twice as much after some hundred thousand
/// updates (`host/docs/designs/memory.md`).
#[cfg(all(feature = "jemalloc", not(target_env = "msvc")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let args = cli::parse();
    let result = match args.command {
        Command::Run(args) => commands::run(args),
        Command::Dev(args) => commands::dev(args),
        Command::Cluster(args) => commands::cluster(args),
        Command::Plugin(args) => commands::plugin(args),
        Command::Top(args) => commands::top(&args),
        Command::Tail(args) => commands::tail(&args),
        Command::Get(args) => commands::get(&args),
        Command::Dlq(args) => commands::dlq(args),
        Command::Why(args) => commands::why(&args),
        Command::Ui(args) => commands::ui(&args),
        Command::Replay(args) => commands::replay(&args),
        Command::Rbac(args) => commands::rbac(&args),
        Command::Explain(args) => commands::explain(&args),
        Command::Completion(args) => commands::completion(&args),
        Command::Man(args) => commands::man(&args),
        Command::Version => commands::version(),
        Command::CompilePlugin(args) => return compiler::compile_plugin(&args),
    };
    match result.and_then(|()| logging::finish_output()) {
        Ok(()) => {
            logging::end(LastWords::None);
            ExitCode::SUCCESS
        }
        Err(error) => {
            logging::end(LastWords::Failure(error));
            ExitCode::FAILURE
        }
    }
}
