//! `informant cluster`: the embedded cluster alone.

use crate::cli::ClusterArgs;
use crate::logging;
use anyhow::{Context, Result, anyhow};
use informant_devcluster::traffic::Traffic;
use informant_devcluster::{DevCluster, DevClusterOptions};
use tracing::info;

/// Runs until a signal stops it.
pub(crate) fn cluster(args: ClusterArgs) -> Result<()> {
    logging::init(&args.log);
    super::run_until_signal(async |stop| {
        let traffic = super::dev::traffic_options(args.traffic)?;
        let options = DevClusterOptions { listen: args.listen, ..DevClusterOptions::default() };
        let cluster = DevCluster::start(options)
            .await
            .map_err(|error| anyhow!("{error}; name another address with --listen"))?;
        let traffic = Traffic::start(cluster.cluster().clone(), traffic).await;
        let file = &args.write_kubeconfig;
        cluster
            .write_kubeconfig(file)
            .with_context(|| {
                let file = file.display();
                format!("the kubeconfig {file} cannot be written; name another place with --write-kubeconfig")
            })?;
        info!("embedded cluster at http://{}", cluster.address());
        info!("try: kubectl --kubeconfig {} get pods -A -w", file.display());
        stop.asked.cancelled().await;
        traffic.shutdown().await;
        cluster.shutdown().await;
        Ok(())
    })
}
