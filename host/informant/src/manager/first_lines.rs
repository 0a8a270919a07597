//! The first lines of a host: the choices that it was started with, and its addresses.

use super::ManagerOptions;
use crate::admin::AdminSocket;
use crate::http::Listeners;
use crate::logging::{LogFormat, Stdout};
use std::io::{IsTerminal as _, Write as _};
use tracing::info;

/// The first lines: cluster, user, directory and addresses.
pub(super) fn introduce(
    options: &ManagerOptions,
    listeners: &Listeners,
    socket: Option<&AdminSocket>,
) {
    let directories: Vec<String> =
        options.directories.iter().map(|path| path.display().to_string()).collect();
    let directories = directories.join(", ");
    let (cluster, user) = (&options.cluster.name, &options.cluster.user);
    let version = env!("CARGO_PKG_VERSION");
    let (address, metrics) = (listeners.address(), listeners.metrics_address());
    let admin = socket.map_or("none".to_owned(), |socket| socket.path().display().to_string());
    let client = &options.cluster.client;
    let lease = options.election.as_ref().map(|election| election.lease(client));
    match options.log_format {
        LogFormat::Text => {
            // Whoever is gone already does not read it.
            let _ = writeln!(
                Stdout,
                "Informant {version}\n  cluster  {cluster}\n  plugins  {directories}\n  \
                 address  {}",
                served_at(listeners, options.is_cluster_embedded)
            );
            if !options.is_cluster_embedded {
                let _ = writeln!(Stdout, "  user     {user}\n  admin    {admin}");
            }
            if let Some(metrics) = metrics {
                let _ =
                    writeln!(Stdout, "  metrics  http://{metrics}  (/metrics, /livez, /readyz)");
            }
            if let Some(secure) = listeners.secure_address() {
                let _ = writeln!(
                    Stdout,
                    "  secure   https://{secure}  (the same for users of the cluster)"
                );
            }
            if let Some(lease) = lease {
                let _ =
                    writeln!(Stdout, "  lease    {lease}  (plugins run while this host holds it)");
            }
        }
        LogFormat::Json => {
            let address = address.to_string();
            let metrics_address = metrics.map(|address| address.to_string());
            let secure_address = listeners.secure_address().map(|address| address.to_string());
            info!(
                version,
                cluster,
                user,
                plugins = directories,
                address,
                metrics_address,
                secure_address,
                admin,
                lease,
                "starting"
            );
        }
    }
}

/// The address's line: an address that other machines reach serves less. The token is for the eyes of a developer: it is shown on a
/// terminal alone, and beside an embedded cluster.
fn served_at(listeners: &Listeners, is_cluster_embedded: bool) -> String {
    let address = listeners.address();
    match listeners.dashboard() {
        Err(_) => format!("http://{address}  (/metrics, /readyz)"),
        Ok(dashboard) if is_cluster_embedded && std::io::stdout().is_terminal() => dashboard,
        Ok(_) => {
            format!("http://{address}/ui/  (the dashboard; also /plugins, /metrics, /readyz)")
        }
    }
}
