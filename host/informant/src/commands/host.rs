//! Converts the arguments of a command that starts a host into the host's options.

use crate::cli::HostArgs;
use crate::host_configuration::HostConfiguration;
use crate::http::Addresses;
use crate::manager::ManagerOptions;
use crate::otlp::OtlpSettings;
use crate::{cluster, compiler};
use anyhow::Result;
use std::path::PathBuf;
use tracing::warn;

impl HostArgs {
    /// The options of a host for these directories, without an election and without a separate listener for metrics.
    pub(super) async fn options(
        self,
        configuration: HostConfiguration,
        directories: Vec<PathBuf>,
        of: compiler::Use,
    ) -> Result<ManagerOptions> {
        Ok(ManagerOptions {
            cluster: cluster::connect(&self.connection, &directories).await?,
            directories,
            configuration,
            review_every: self.access.review_every(),
            compiler: compiler::options(&self.compiler, of)?,
            state: self.state.options(),
            outbound: self.outbound,
            record: self.record.options(),
            otlp: OtlpSettings::read(
                self.otlp.otlp_endpoint.as_deref(),
                |name| std::env::var(name).ok(),
                |problem| warn!("{problem}"),
            )?,
            election: None,
            addresses: Addresses { api: self.serve.listen, metrics: None, secure: None },
            admin_socket: self.serve.admin.admin_socket,
            log_format: self.serve.log.log_format,
            is_cluster_embedded: false,
            awaited: Vec::new(),
        })
    }
}
