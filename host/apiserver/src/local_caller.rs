//! Tells requests of local programs from those of foreign web pages in a browser of this machine. Such a page
//! comes with a foreign `Host` (DNS rebinding), or the browser says that another site asks.

use http::header;
use http::uri::Authority;
use http::{HeaderMap, Uri};
use std::net::{IpAddr, Ipv6Addr};

/// Whether everything that names the host of a request names this machine, and something does. Only then is the request
/// no DNS rebinding.
pub fn names_this_machine(uri: &Uri, headers: &HeaderMap) -> bool {
    let authority = uri.authority().is_none_or(|authority| is_local(authority.as_str()));
    let mut hosts = headers.get_all(header::HOST).iter().peekable();
    let named = uri.authority().is_some() || hosts.peek().is_some();
    named && authority && hosts.all(|host| host.to_str().is_ok_and(is_local))
}

/// Why a request is refused that another site's page makes. A browser says so (Fetch Metadata); others say nothing.
pub fn check_site(headers: &HeaderMap) -> Result<(), &'static str> {
    match headers.get_all("sec-fetch-site").iter().any(|site| site == "cross-site") {
        true => Err("another site's page asked for this; open the address by itself"),
        false => Ok(()),
    }
}

/// Whether a `Host` names this machine: a name or an address, then perhaps a port, and nothing else.
fn is_local(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let port = match host.strip_prefix(name) {
        Some("") => true,
        Some(rest) => rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok()),
        // A user's name comes first.
        None => false,
    };
    let address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(name) => name.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => name.parse::<std::net::Ipv4Addr>().ok().map(IpAddr::V4),
    };
    let local = address.is_some_and(|address| address.to_canonical().is_loopback());
    port && (local || name.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request with these headers and this target, which is a path or absolute.
    #[track_caller]
    fn check(target: &str, named: &[(&'static str, &str)], allowed: bool) {
        let mut headers = HeaderMap::new();
        for (name, value) in named {
            headers.append(*name, value.parse().expect("a header's value"));
        }
        let uri: Uri = target.parse().expect("a target");
        let found = names_this_machine(&uri, &headers) && check_site(&headers).is_ok();
        assert_eq!(found, allowed, "{target} {named:?}");
    }

    #[test]
    fn a_host_with_more_than_a_name_and_a_port_is_refused() {
        let hosts = [
            "[::1].evil",
            "[::1]evil:80",
            "[localhost]",
            "[127.0.0.1]",
            "::1",
            "127.0.0.1:x",
            "127.0.0.1:",
            "127.0.0.1:99999",
            "127.0.0.1:80:80",
            "127.0.0.1:x@evil",
            "127.0.0.1@evil",
            "evil@127.0.0.1",
            "127.0.0.1/evil",
            "localhost.",
            "127.1",
        ];
        for host in hosts {
            check("/plugins", &[("host", host)], false);
        }
    }

    #[test]
    fn every_name_of_the_host_must_be_local() {
        let check = |target: &str, hosts: &[&str], allowed| {
            let named: Vec<_> = hosts.iter().map(|host| ("host", *host)).collect();
            check(target, &named, allowed);
        };
        check("/plugins", &["localhost", "evil.example"], false);
        check("/plugins", &["evil.example", "localhost"], false);
        check("http://evil.example/plugins", &["localhost"], false);
        check("http://localhost/plugins", &["evil.example"], false);
        check("http://localhost/plugins", &[], true);
    }

    #[test]
    fn other_sites_pages_are_refused() {
        let check = |site, allowed| {
            let named = [("host", "localhost"), ("sec-fetch-site", site)];
            super::tests::check("/plugins", &named, allowed);
        };
        check("cross-site", false);
        check("same-origin", true);
        check("none", true);
    }
}
