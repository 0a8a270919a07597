//! The request that follows a redirect: RFC 9110, 15.4, as clients implement it. The caller checks the new target
//! against the rules.

use super::headers::Header;
use super::{Method, OutboundRequest};
use bytes::Bytes;

/// As many as browsers' libraries follow.
pub(crate) const REDIRECTS_MAX: usize = 5;

/// Fields that describe the body.
const OF_THE_BODY: [&str; 4] =
    ["content-encoding", "content-language", "content-location", "content-type"];
/// Fields that may be sent to another origin: they describe the content and the wanted answer. Any other field may
/// contain a key.
const OF_ALL_ORIGINS: [&str; 9] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "content-encoding",
    "content-language",
    "content-type",
    "user-agent",
];

/// The request that follows from this answer; `None` if the answer is final. An error has the reason why there is no
/// clear target.
pub(crate) fn redirected(
    request: &OutboundRequest,
    status: u16,
    headers: &[Header],
) -> Result<Option<OutboundRequest>, String> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let mut locations = headers.iter().filter(|(name, _)| name == "location");
    let (Some((_, location)), None) = (locations.next(), locations.next()) else {
        // Without a location the answer is final; with several the target is not clear.
        return Ok(None);
    };
    let location =
        std::str::from_utf8(location).map_err(|_| "its Location is no text".to_owned())?;
    let target =
        request.target.join(location).map_err(|problem| format!("its Location: {problem}"))?;
    let method = match (status, request.method) {
        (301 | 302, Method::Post) => Method::Get,
        (303, method) if method != Method::Head => Method::Get,
        (_, method) => method,
    };
    let (keeps_body, keeps_origin) =
        (method == request.method, target.origin() == request.target.origin());
    let is_kept = |(name, _): &&Header| {
        (keeps_body || !OF_THE_BODY.contains(&name.as_str()))
            && (keeps_origin || OF_ALL_ORIGINS.contains(&name.as_str()))
    };
    Ok(Some(OutboundRequest {
        method,
        target,
        headers: request.headers.iter().filter(is_kept).cloned().collect(),
        body: if keeps_body { request.body.clone() } else { Bytes::new() },
    }))
}

#[cfg(test)]
mod tests {
    use super::super::request::PluginRequest;
    use super::*;

    /// The next request after an answer to a request with this method for `https://a.org/b`, with a body and some
    /// headers.
    #[track_caller]
    fn check(method: &str, status: u16, locations: &[&str], expect: &str) {
        let headers = ["Authorization", "Accept", "Content-Type", "X-Api-Key"];
        let asked = PluginRequest {
            method: method.to_owned(),
            url: "https://a.org/b".to_owned(),
            headers: headers.map(|name| (name.to_owned(), String::new())).to_vec(),
            body: b"body".to_vec(),
        };
        let request = OutboundRequest::new(asked, 10).expect("it is well formed");
        let header = |value: &&str| ("location".to_owned(), value.as_bytes().to_vec());
        let answered: Vec<Header> = locations.iter().map(header).collect();
        let shown = match redirected(&request, status, &answered) {
            Ok(None) => "answer".to_owned(),
            Ok(Some(OutboundRequest { method, target, headers, body })) => {
                let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
                let (origin, path) = (target.origin(), target.path_and_query());
                let body = String::from_utf8_lossy(&body).into_owned();
                format!("{} {origin}{path} {} {body}", method.name(), names.join(","))
            }
            Err(problem) => problem,
        };
        assert_eq!(shown.trim_end(), expect, "{method} {status}");
    }

    const ALL: &str = "authorization,accept,content-type,x-api-key body";

    #[test]
    fn method_and_body_are_kept_where_the_status_says_so() {
        for status in [307, 308] {
            check("POST", status, &["/c"], &format!("POST https://a.org/c {ALL}"));
        }
        for status in [301, 302, 303] {
            check("POST", status, &["/c"], "GET https://a.org/c authorization,accept,x-api-key");
        }
        for status in [301, 302] {
            check("PUT", status, &["/c"], &format!("PUT https://a.org/c {ALL}"));
        }
        check("DELETE", 303, &["/c"], "GET https://a.org/c authorization,accept,x-api-key");
        check("HEAD", 303, &["/c"], &format!("HEAD https://a.org/c {ALL}"));
    }

    #[test]
    fn what_was_meant_for_one_origin_goes_to_no_other() {
        let foreign = "accept,content-type body";
        for other in ["http://a.org", "https://a.org:8443", "https://b.org", "https://b.a.org"] {
            let location = format!("{other}/c");
            check("POST", 307, &[&location], &format!("POST {location} {foreign}"));
        }
        check("POST", 307, &["https://A.org:443/c"], &format!("POST https://a.org/c {ALL}"));
    }

    #[test]
    fn whatever_leads_nowhere_is_an_answer() {
        for status in [200, 204, 300, 304, 305, 306, 400] {
            check("GET", status, &["/c"], "answer");
        }
        check("GET", 302, &[], "answer");
        check("GET", 302, &["/c", "/d"], "answer");
        check("GET", 302, &["ftp://a.org"], "its Location: it is neither https nor http");
        check(
            "GET",
            302,
            &["https://u@b.org"],
            &format!("its Location: {}", super::super::target::USERINFO),
        );
    }
}
