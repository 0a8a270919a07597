//! The addresses of a host, and the format of its log.

use crate::logging::LogArgs;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What a host serves.
#[derive(clap::Args, Debug)]
pub(crate) struct ServeArgs {
    /// Address of the HTTP API. Loopback serves everything. Any other address serves /livez, /readyz,
    /// /healthz and /metrics alone, because callers are not authenticated; `run` has
    /// --secure-listen-address for users of the cluster.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8888")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// The listener of `run` that others may reach. It has the name that Kubernetes' components and
/// controller-runtime have for it; as in etcd, the probes are beside the metrics.
#[derive(clap::Args, Debug)]
pub(crate) struct MetricsArgs {
    /// Second address, for /livez, /readyz, /healthz and /metrics alone. In a Pod it is one that the
    /// kubelet and Prometheus reach, while --listen stays on loopback, where kubectl port-forward
    /// connects to.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics_bind_address: Option<SocketAddr>,
}

/// The listener of `run` for callers on other machines, with the options of kube-rbac-proxy and of
/// Kubernetes' components.
#[derive(clap::Args, Debug)]
pub(crate) struct SecureArgs {
    /// Address of the HTTP API for callers on other machines, with TLS. Each request needs a bearer
    /// token of the cluster or, with --client-ca-file, a client certificate. Its user reads what the
    /// cluster's roles let this user read. The host's user needs the ClusterRole system:auth-delegator.
    #[arg(long, value_name = "ADDRESS", requires_all = ["tls_cert_file", "tls_private_key_file"])]
    pub(crate) secure_listen_address: Option<SocketAddr>,
    /// Certificate of that address and its issuers, PEM. A replaced file is used within 10 s.
    #[arg(long, value_name = "FILE", requires = "secure_listen_address")]
    pub(crate) tls_cert_file: Option<PathBuf>,
    /// Private key of the certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "secure_listen_address")]
    pub(crate) tls_private_key_file: Option<PathBuf>,
    /// Authorities of client certificates, PEM. A caller with a certificate of one of them is the user
    /// that its common name says, in the groups that its organizations say. A replaced file is used
    /// within 10 s.
    #[arg(long, value_name = "FILE", requires = "secure_listen_address")]
    pub(crate) client_ca_file: Option<PathBuf>,
}

/// The address of a running host, for its user.
#[derive(clap::Args, Debug)]
pub(crate) struct AdminArgs {
    /// Unix socket of the running host. Only the host's user may open it
    /// [default: informant.sock in XDG_RUNTIME_DIR, else informant-UID/admin.sock in the temporary directory].
    #[arg(long, value_name = "PATH", env = "INFORMANT_ADMIN_SOCKET")]
    pub(crate) admin_socket: Option<PathBuf>,
}
