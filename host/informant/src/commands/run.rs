//! `informant run`: a real cluster and one plugin directory.

use crate::cli::RunArgs;
use crate::compiler::Use;
use crate::election::ElectionOptions;
use crate::host_configuration::HostConfiguration;
use crate::logging;
use crate::manager::{Manager, ManagerOptions};
use anyhow::Result;

/// Runs until a signal stops it.
pub(crate) fn run(args: RunArgs) -> Result<()> {
    logging::init(args.host.serve.log_format);
    super::check_directory(&args.plugins)?;
    let configuration = HostConfiguration::load(args.host.config.config.as_deref())?;
    let election = ElectionOptions::new(args.election)?;
    super::run_until_signal(async |stop| {
        let options = args.host.options(configuration, vec![args.plugins], Use::Plugins).await?;
        let metrics_bind_address = args.metrics.metrics_bind_address;
        let options = ManagerOptions { election, metrics_bind_address, ..options };
        Manager::start(options).await?.run_until(&stop.asked, Some(stop.at_once())).await
    })
}
