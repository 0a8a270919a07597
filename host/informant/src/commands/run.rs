//! `informant run`: a real cluster and one plugin directory.

use crate::cli::RunArgs;
use crate::election::ElectionOptions;
use crate::host_configuration::HostConfiguration;
use crate::manager::{Manager, ManagerOptions};
use crate::{cluster, compiler, logging};
use anyhow::Result;

/// Runs until a signal stops it.
pub(crate) fn run(args: RunArgs) -> Result<()> {
    logging::init(args.serve.log_format);
    super::check_directory(&args.plugins)?;
    let configuration = HostConfiguration::load(args.config.config.as_deref())?;
    let election = ElectionOptions::new(args.election)?;
    super::run_until_signal(async |stop| {
        let cluster = cluster::connect(&args.connection).await?;
        let options = ManagerOptions {
            cluster,
            directories: vec![args.plugins],
            configuration,
            review_every: args.access.review_every(),
            compiler: compiler::options(&args.compiler, compiler::Use::Plugins)?,
            state: args.state.options(),
            outbound: args.outbound,
            record: args.record.options(),
            election,
            listen: args.serve.listen,
            metrics_bind_address: args.metrics.metrics_bind_address,
            admin_socket: args.serve.admin.admin_socket,
            log_format: args.serve.log_format,
            is_cluster_embedded: false,
        };
        Manager::start(options).await?.run_until(&stop.asked, Some(stop.at_once())).await
    })
}
