//! The addresses of the cluster's API server. Plugins write to the API server through `kube`, and must not send it
//! other requests. The host knows its own client's address, the address that every pod has, and the addresses behind
//! the API server's Service, if it may read them. It does not know other addresses of such a machine, nor those of a
//! load balancer that is not configured in the host.

use super::resolve::{Asker, Resolver};
use futures::future::BoxFuture;
use http::Uri;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use std::env;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tracing::debug;

/// API servers come and go with the machines that they run on.
const ENDPOINTS_AGE_MAX: Duration = Duration::from_secs(60);
/// A plugin waits for the answer to its own request.
const ENDPOINTS_TIME_MAX: Duration = Duration::from_secs(2);
/// Three to five servers are usual. One slice has up to 1,000 endpoints.
const ENDPOINTS_MAX: usize = 1_000;

/// Reads the addresses of the servers behind the API server's Service. A seam: tests have no cluster.
pub(crate) trait Endpoints: Send + Sync + 'static {
    /// An error says why the addresses are unknown.
    fn read(&self) -> BoxFuture<'_, Result<Vec<SocketAddr>, String>>;
}

/// The known addresses of the API servers.
pub(super) struct ApiServers {
    /// Names or addresses, with ports.
    named: Vec<(String, u16)>,
    endpoints: Option<Box<dyn Endpoints>>,
    known: Mutex<KnownServers>,
}

/// The endpoints of the last successful read.
#[derive(Default)]
struct KnownServers {
    endpoints: Vec<SocketAddr>,
    /// The time of the last read, which may have failed.
    asked: Option<Instant>,
}

impl ApiServers {
    /// The address of the client, and the address that every pod has.
    pub(super) fn new(uri: &Uri, endpoints: Option<Box<dyn Endpoints>>) -> Self {
        let port = match uri.scheme_str() {
            Some("http") => 80,
            _ => 443,
        };
        let plain = |host: &str| host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let named = uri.host().map(|host| (plain(host), uri.port_u16().unwrap_or(port)));
        let variable = |name: &str| env::var(format!("KUBERNETES_SERVICE_{name}")).ok();
        let of_pod = variable("HOST").zip(variable("PORT").and_then(|port| port.parse().ok()));
        Self::at(named.into_iter().chain(of_pod).collect(), endpoints)
    }

    pub(super) fn at(named: Vec<(String, u16)>, endpoints: Option<Box<dyn Endpoints>>) -> Self {
        Self { named, endpoints, known: Mutex::default() }
    }

    /// Whether an API server has this address. An error if a name cannot be resolved: the server may then have any
    /// address on its port.
    pub(super) async fn are_at(
        &self,
        address: SocketAddr,
        resolver: &dyn Resolver,
    ) -> Result<bool, String> {
        for (host, _) in self.named.iter().filter(|(_, port)| *port == address.port()) {
            let found = match host.parse::<IpAddr>() {
                Ok(known) => vec![known],
                Err(_) => resolver.resolve(Asker::Host, host).await.map_err(|error| {
                    debug!("{address} may be the API server, as {host} was not resolved: {error}");
                    format!(
                        "it may be the cluster's API server, whose name was not resolved: {error}"
                    )
                })?,
            };
            if found.into_iter().any(|known| is_same(known, address.ip())) {
                return Ok(true);
            }
        }
        let is_it = |known: &SocketAddr| {
            known.port() == address.port() && is_same(known.ip(), address.ip())
        };
        Ok(self.endpoints().await.iter().any(is_it))
    }

    /// The endpoints of the last successful read. One caller reads for all callers; the others wait for the result.
    async fn endpoints(&self) -> Vec<SocketAddr> {
        let Some(endpoints) = &self.endpoints else { return Vec::new() };
        let mut known = self.known.lock().await;
        if known.asked.is_none_or(|asked| asked.elapsed() >= ENDPOINTS_AGE_MAX) {
            let read = timeout(ENDPOINTS_TIME_MAX, endpoints.read()).await;
            known.asked = Some(Instant::now());
            match read.unwrap_or_else(|_| Err("no answer in time".to_owned())) {
                Ok(found) => known.endpoints = found.into_iter().take(ENDPOINTS_MAX).collect(),
                Err(problem) => debug!("the API server's endpoints are not known: {problem}"),
            }
        }
        known.endpoints.clone()
    }
}

/// Whether connections to both addresses lead to the same machine, as far as addresses show.
fn is_same(known: IpAddr, asked: IpAddr) -> bool {
    match (known.to_canonical(), asked.to_canonical()) {
        // A translator puts the IPv4 address at the end of an IPv6 address with any prefix.
        (IpAddr::V4(known), IpAddr::V6(asked)) if asked.octets()[12..] == known.octets() => true,
        (known, asked) => known == asked || known.is_loopback() && asked.is_loopback(),
    }
}

/// The endpoints of this client's cluster, as far as its user may read them.
pub(crate) struct ClusterEndpoints(pub(crate) kube::Client);

impl Endpoints for ClusterEndpoints {
    fn read(&self) -> BoxFuture<'_, Result<Vec<SocketAddr>, String>> {
        Box::pin(async move {
            let slices = kube::Api::<EndpointSlice>::namespaced(self.0.clone(), "default");
            let slice = slices.get_opt("kubernetes").await.map_err(|error| error.to_string())?;
            slice.map(|slice| addresses(&slice)).ok_or_else(|| "there are none".to_owned())
        })
    }
}

/// All addresses of a slice, each with all ports of the slice.
fn addresses(slice: &EndpointSlice) -> Vec<SocketAddr> {
    let ports = || {
        let ports = slice.ports.iter().flatten().filter_map(|port| port.port);
        ports.filter_map(|port| u16::try_from(port).ok())
    };
    let addresses = slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses);
    let addresses = addresses.filter_map(|address| address.parse::<IpAddr>().ok());
    addresses.flat_map(|address| ports().map(move |port| SocketAddr::new(address, port))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::VecDeque;
    use std::io;
    use std::sync::Arc;

    type Answer = Result<Vec<SocketAddr>, String>;

    /// Gives these answers one after the other, and then never answers.
    #[derive(Clone, Default)]
    struct Slices(Arc<parking_lot::Mutex<VecDeque<Answer>>>);

    impl Endpoints for Slices {
        fn read(&self) -> BoxFuture<'_, Answer> {
            match self.0.lock().pop_front() {
                Some(answer) => Box::pin(std::future::ready(answer)),
                None => Box::pin(std::future::pending()),
            }
        }
    }

    /// A resolver that knows no name.
    struct NoNames;

    impl Resolver for NoNames {
        fn resolve(&self, _: Asker<'_>, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            Box::pin(std::future::ready(Err(io::Error::other("nobody knows it"))))
        }
    }

    /// Checks whether a server with the address `known` is recognised at the address `asked`.
    #[track_caller]
    fn check(known: &str, asked: &str, expect: bool) {
        let address = |text: &str| text.parse().expect("an address");
        assert_eq!(is_same(address(known), address(asked)), expect, "{known} {asked}");
    }

    #[test]
    fn an_address_is_the_same_however_it_is_written() {
        check("10.0.0.1", "10.0.0.1", true);
        check("10.0.0.1", "::ffff:10.0.0.1", true);
        check("::ffff:10.0.0.1", "10.0.0.1", true);
        check("10.0.0.1", "10.0.0.2", false);
        check("203.0.114.5", "64:ff9b::203.0.114.5", true);
        check("203.0.114.5", "2a00:1:2::203.0.114.5", true);
        check("203.0.114.5", "2a00:1:2::203.0.114.6", false);
        check("127.0.0.1", "127.0.0.2", true);
        check("127.0.0.1", "::1", true);
        check("::1", "127.0.0.1", true);
        check("fd12::1", "fd12::1", true);
        check("fd12::1", "fd12::2", false);
    }

    #[test]
    fn a_slice_is_its_addresses_with_its_ports() {
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "kubernetes", "namespace": "default"},
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2", "no address"]}],
            "ports": [{"port": 6443}, {"port": 70000}, {}],
        });
        let slice = serde_json::from_value(slice).expect("it is well formed");
        let expect = ["10.0.0.1:6443", "10.0.0.2:6443"].map(|it| it.parse().expect("an address"));
        assert_eq!(addresses(&slice), expect);
    }

    #[tokio::test(start_paused = true)]
    async fn the_servers_behind_the_service_are_asked_by_no_address() {
        let slices = Slices::default();
        let servers = ApiServers::at(Vec::new(), Some(Box::new(slices.clone())));
        let is_at = async |text: &str| {
            let address = text.parse().expect("an address");
            servers.are_at(address, &NoNames).await.expect("no name is asked for")
        };
        let answer = |text: &str| Ok(vec![text.parse().expect("an address")]);
        slices.0.lock().push_back(answer("10.0.0.1:6443"));
        assert!(is_at("10.0.0.1:6443").await && is_at("[64:ff9b::10.0.0.1]:6443").await);
        assert!(!is_at("10.0.0.1:80").await && !is_at("10.0.0.2:6443").await);
        // The servers move, then they cannot be read for a while, and then they give no answer.
        slices.0.lock().push_back(answer("10.0.0.2:6443"));
        assert!(!is_at("10.0.0.2:6443").await, "it is not time to look again");
        tokio::time::advance(ENDPOINTS_AGE_MAX).await;
        assert!(is_at("10.0.0.2:6443").await);
        slices.0.lock().push_back(Err("forbidden".to_owned()));
        for _ in 0..2 {
            tokio::time::advance(ENDPOINTS_AGE_MAX).await;
            let began = Instant::now();
            assert!(is_at("10.0.0.2:6443").await, "what was known is known");
            assert!(began.elapsed() <= ENDPOINTS_TIME_MAX + Duration::from_millis(1));
        }
    }

    #[tokio::test]
    async fn where_its_name_leads_nobody_knows_it_may_be_there() {
        let servers = ApiServers::at(vec![("api.test".to_owned(), 6_443)], None);
        let at = |port| SocketAddr::new(IpAddr::from([10, 0, 0, 1]), port);
        let problem = servers.are_at(at(6_443), &NoNames).await.expect_err("nobody knows");
        assert!(problem.starts_with("it may be the cluster's API server"), "{problem}");
        assert!(!problem.contains("10.0.0.1") && !problem.contains("api.test"), "{problem}");
        assert_eq!(servers.are_at(at(443), &NoNames).await, Ok(false));
        let uri = "https://[::1]:6443".parse().expect("a URI");
        assert_eq!(ApiServers::new(&uri, None).named[0], ("::1".to_owned(), 6_443));
    }
}
