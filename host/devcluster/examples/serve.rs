//! Serves an embedded cluster until interrupted: `cargo run -p informant-devcluster --example serve -- FILE`
//! writes a kubeconfig to FILE.
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::path::PathBuf;

use informant_devcluster::{DevCluster, DevClusterOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).map_or_else(|| "kubeconfig.json".into(), PathBuf::from);
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let cluster = DevCluster::start(DevClusterOptions::default()).await?;
        cluster.write_kubeconfig(&path)?;
        println!("serving at {}; KUBECONFIG={}", cluster.address(), path.display());
        std::future::pending::<()>().await;
        Ok(())
    })
}
