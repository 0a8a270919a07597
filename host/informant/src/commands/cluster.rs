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
        for line in advice(&file.display().to_string(), args.traffic > 0.0) {
            info!("{line}");
        }
        tokio::select! {
            () = stop.asked.cancelled() => {}
            () = traffic.ended() => {}
        }
        let result = traffic.shutdown().await;
        cluster.shutdown().await;
        Ok(result?)
    })
}

/// The uses of the cluster. Without traffic a reader would wait for changes in vain.
fn advice(kubeconfig: &str, has_traffic: bool) -> Vec<String> {
    let mut lines = vec![
        format!("try: kubectl --kubeconfig {kubeconfig} get pods -A -w"),
        format!("try: informant run --kubeconfig {kubeconfig} --plugins DIR"),
    ];
    if !has_traffic {
        lines.push(
            "no object changes by itself: --traffic 2 makes about 2 changes a second".to_owned(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_names_plugins_and_the_option_for_changes() {
        let check = |has_traffic, expect: &[&str]| {
            assert_eq!(advice("./informant.kubeconfig", has_traffic), expect);
        };
        let kubectl = "try: kubectl --kubeconfig ./informant.kubeconfig get pods -A -w";
        let run = "try: informant run --kubeconfig ./informant.kubeconfig --plugins DIR";
        let still = "no object changes by itself: --traffic 2 makes about 2 changes a second";
        check(false, &[kubectl, run, still]);
        check(true, &[kubectl, run]);
    }
}
