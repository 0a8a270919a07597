//! `informant run`: a real cluster and one plugin directory.

use crate::cli::{RunArgs, SecureArgs};
use crate::compiler::Use;
use crate::election::ElectionOptions;
use crate::host_configuration::HostConfiguration;
use crate::http::{Addresses, SecureAddress, TlsFiles};
use crate::logging;
use crate::manager::{Manager, ManagerOptions};
use anyhow::Result;

/// Runs until a signal stops it.
pub(crate) fn run(args: RunArgs) -> Result<()> {
    logging::init(&args.host.serve.log);
    super::check_directory(&args.plugins)?;
    let configuration = HostConfiguration::load(args.host.config.config.as_deref(), false)?;
    let election = ElectionOptions::new(args.election)?;
    super::run_until_signal(async |stop| {
        let options = args.host.options(configuration, vec![args.plugins], Use::Plugins).await?;
        let (metrics, secure) = (args.metrics.metrics_bind_address, secure(args.secure));
        let addresses = Addresses { metrics, secure, ..options.addresses };
        let options = ManagerOptions { election, addresses, ..options };
        Manager::start(options).await?.run_until(&stop.asked, Some(stop.at_once())).await
    })
}

/// None where no address is named. Its files are named with it.
fn secure(args: SecureArgs) -> Option<SecureAddress> {
    let address = args.secure_listen_address?;
    let files = TlsFiles {
        certificate: args.tls_cert_file?,
        key: args.tls_private_key_file?,
        client_authorities: args.client_ca_file,
    };
    Some(SecureAddress { address, files })
}
