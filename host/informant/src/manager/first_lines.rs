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
    dashboard: Option<&str>,
) {
    let directories: Vec<String> =
        options.directories.iter().map(|path| path.display().to_string()).collect();
    let directories = directories.join(", ");
    let (cluster, user) = (&options.cluster.name, &options.cluster.user);
    let version = env!("CARGO_PKG_VERSION");
    let (address, metrics) = (listeners.address(), listeners.metrics_address());
    let secure = listeners.secure_address();
    let admin = socket.map_or("none".to_owned(), |socket| socket.path().display().to_string());
    let client = &options.cluster.client;
    let lease = options.election.as_ref().map(|election| election.lease(client));
    match options.log_format {
        LogFormat::Text => {
            let is_own = !options.is_cluster_embedded;
            let served = match dashboard {
                Some(url) if url.contains('#') => ("dashboard", url.to_owned()),
                Some(url) => ("dashboard", format!("{url}  (also /plugins, /metrics, /readyz)")),
                None => ("address", format!("http://{address}  (/metrics, /readyz)")),
            };
            let metrics = metrics.map(|at| format!("http://{at}  (/metrics, /livez, /readyz)"));
            let secure = secure.map(|at| format!("https://{at}  (for users of the cluster)"));
            let lease =
                lease.map(|lease| format!("{lease}  (plugins run while this host holds it)"));
            let lines = [
                Some(("cluster", cluster.clone())),
                Some(("plugins", directories)),
                Some(served),
                is_own.then(|| ("user", user.clone())),
                is_own.then_some(("admin", admin)),
                metrics.map(|text| ("metrics", text)),
                secure.map(|text| ("secure", text)),
                lease.map(|text| ("lease", text)),
            ];
            let lines = lines.into_iter().flatten();
            let lines = lines.map(|(name, text)| format!("  {name:<9}  {text}\n"));
            // Whoever is gone already does not read it.
            let _ = write!(Stdout, "Informant {version}\n{}", lines.collect::<String>());
        }
        LogFormat::Json => {
            let [metrics, secure] = [metrics, secure].map(|at| at.map(|at| at.to_string()));
            info!(
                version,
                cluster,
                user,
                plugins = directories,
                address = address.to_string(),
                metrics_address = metrics,
                secure_address = secure,
                admin,
                lease,
                "starting"
            );
        }
    }
}

/// The address of the dashboard, if this host's address serves it. The token is for the eyes of a developer: it is shown on a
/// terminal alone, and with an embedded cluster.
pub(super) fn dashboard(listeners: &Listeners, is_cluster_embedded: bool) -> Option<String> {
    let dashboard = listeners.dashboard().ok()?;
    let shows_token = is_cluster_embedded && std::io::stdout().is_terminal();
    let (without_token, _) = dashboard.split_once('#')?;
    Some(if shows_token { dashboard } else { without_token.to_owned() })
}
