//! HTTP requests: of the grammar of the ports' routes, with bytes that are not of it, and the manners of those who send them.

use fastrand::Rng;
use informant_fuzz::Mutator;
use std::time::Duration;

/// Longer ones are cut off by the head's bound long before.
const REQUEST_BYTES_MAX: usize = 300_000;

const METHODS: &[&str] =
    &["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PRI", "G\tT", "get"];
const SEGMENTS: &[&str] = &[
    "livez",
    "readyz",
    "healthz",
    "metrics",
    "plugins",
    "problems",
    "deploy",
    "core",
    "v1",
    "pods",
    "secrets",
    "apps",
    "deployments",
    "namespaces",
    "siege",
    "sin-00",
    "nodes",
    "..",
    ".",
    "%2e%2e",
    "%2f",
    "%00",
    "%",
    "*",
    "",
    "events",
    "%ff",
    "a%0d%0ab",
    "configmaps",
    "good",
    "pause",
    "resume",
    "reload",
    "rollback",
    "dead-letters",
    "redrive",
    "purge",
    "actions",
    "logs",
    "\u{e9}",
];
const PARAMETERS: &[&str] = &[
    "labelSelector",
    "fieldSelector",
    "namespace",
    "name",
    "labels[app]",
    "labels[",
    "limit",
    "watch",
    "%6eame",
    "",
];
const VALUES: &[&str] = &[
    "siege",
    "app=soak",
    "app in (a,b),!c",
    "status.phase!=Running",
    "metadata.name=a",
    "a,a,a,a",
    "((((",
    "%00",
    "%",
    "",
    "../..",
    "app notin ()",
    "%E2%80%AE",
];
const HEADERS: &[&str] = &[
    "Accept: */*",
    "Accept-Encoding: gzip",
    "Connection: keep-alive",
    "Connection: close",
    "Connection: Upgrade",
    "Upgrade: h2c",
    "Expect: 100-continue",
    "Content-Length: 5",
    "Content-Length: 99999999999999999999",
    "Content-Length: -1",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Host: localhost",
    "Host: example.com",
    "Host:",
    "Origin: http://example.com",
    "Sec-Fetch-Site: cross-site",
    "Range: bytes=0-",
    "X: \t",
    " folded: yes",
    "X-Forwarded-For: 127.0.0.1",
    "Authorization: Bearer x",
    "If-None-Match: *",
    "X-Informant-Action: true",
    "Content-Type: application/json",
    "\0: \0",
];
const VERSIONS: &[&str] =
    &["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1.1 ", "", "http/1.1"];
const WORDS: &[&str] = &[
    "\r\n",
    "\r\n\r\n",
    "HTTP/1.1",
    "Host: localhost\r\n",
    "0\r\n\r\n",
    "GET /livez ",
    "%",
    "?",
    "#",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\x16\x03\x01",
];

/// How whoever sends a request goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manner {
    /// Sends it and reads the answer.
    Reads,
    /// Sends it in pieces, with pauses.
    Slow,
    /// Sends it again and again on one connection, and reads the answers.
    Pipelines,
    /// Sends it, says that nothing more comes, and reads the answer.
    HalfCloses,
    /// Sends it and goes away at once.
    Leaves,
    /// Sends it again and again, and reads nothing for a while.
    NeverReads,
    /// Sends it on many connections at once.
    Crowds,
}

impl Manner {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Reads,
        Self::Slow,
        Self::Pipelines,
        Self::HalfCloses,
        Self::Leaves,
        Self::NeverReads,
        Self::Crowds,
    ];

    /// The usual ones are frequent; those that take long are not.
    fn any(rng: &mut Rng) -> Self {
        match rng.u32(..4) {
            0 => rng.choice(Self::ALL).expect("there are some"),
            1 => Self::Leaves,
            _ => Self::Reads,
        }
    }
}

/// A request with its manner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// How it is sent.
    pub manner: Manner,
    /// What is sent.
    pub bytes: Vec<u8>,
    /// Between pieces of a slow one, and as long as nothing is read.
    pub pause: Duration,
    /// How often, or on how many connections.
    pub times: usize,
    /// The last byte of the address that it comes from, 127.0.0.x.
    pub peer: u8,
}

/// One of them.
pub fn attempt(rng: &mut Rng) -> Attempt {
    let request = request(rng);
    let bytes = match rng.u32(..3) {
        0 => {
            Mutator { words: WORDS, length_max: REQUEST_BYTES_MAX }.mutate(&request, &request, rng)
        }
        _ => request,
    };
    Attempt {
        manner: Manner::any(rng),
        bytes,
        pause: Duration::from_millis(1 << rng.u32(..12)),
        times: 1 << rng.u32(..8),
        peer: rng.u8(1..6),
    }
}

fn request(rng: &mut Rng) -> Vec<u8> {
    // Most of what strays is refused at once; what does not comes further.
    let strays = |rng: &mut Rng| rng.u32(..6) == 0;
    let path = path(rng);
    let usual = if is_action(&path) { "POST" } else { "GET" };
    let method = if strays(rng) { pick(METHODS, rng) } else { usual };
    let version = if strays(rng) { pick(VERSIONS, rng) } else { "HTTP/1.1" };
    let mut text = format!("{method} {path}{} {version}\r\n", query(rng));
    if !strays(rng) {
        text += "Host: localhost\r\n";
    }
    for _ in 0..rng.u32(..4) {
        text += pick(HEADERS, rng);
        text += "\r\n";
    }
    if rng.u32(..30) == 0 {
        let line = format!("X-{}: {}\r\n", rng.u32(..), "y".repeat(1 << rng.u32(..12)));
        text += &line.repeat(1 << rng.u32(..6));
    }
    text += "\r\n";
    if rng.u32(..8) == 0 {
        text +=
            pick(&["hello", "5\r\nhello\r\n0\r\n\r\n", "ffffffffffffffff\r\n", "0\r\n\r\n"], rng);
    }
    text.into_bytes()
}

fn is_action(path: &str) -> bool {
    ["/pause", "/resume", "/reload", "/rollback", "/redrive", "/purge"]
        .iter()
        .any(|action| path.ends_with(action))
}

fn path(rng: &mut Rng) -> String {
    let whole: &[&str] = &[
        "/livez",
        "/readyz",
        "/metrics",
        "/plugins",
        "/plugins/good/pause",
        "/plugins/good/reload",
        "/plugins/good/dead-letters/redrive",
        "/plugins/good/dead-letters",
        "/plugins/good/actions",
        "/plugins/good/logs",
        "/problems",
        "/deploy",
        "/core/v1/pods",
        "/core/v1/namespaces/siege/pods",
        "/core/v1/nodes",
        "/apps/v1/deployments",
        "/",
    ];
    match rng.u32(..3) {
        0 => (0..rng.usize(..9)).map(|_| format!("/{}", pick(SEGMENTS, rng))).collect(),
        1 if rng.u32(..20) == 0 => "/a".repeat(1 << rng.u32(..16)),
        _ => pick(whole, rng).to_owned(),
    }
}

fn query(rng: &mut Rng) -> String {
    let count = if rng.u32(..20) == 0 { rng.usize(..200) } else { rng.usize(..3) };
    let parts: Vec<String> = (0..count)
        .map(|_| format!("{}={}", pick(PARAMETERS, rng), pick(VALUES, rng).replace(' ', "%20")))
        .collect();
    if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) }
}

fn pick<'a>(words: &[&'a str], rng: &mut Rng) -> &'a str {
    rng.choice(words).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_attempt_and_every_manner_is_tried() {
        let mut manners = Vec::new();
        for seed in 0..500 {
            let made = attempt(&mut Rng::with_seed(seed));
            assert_eq!(made, attempt(&mut Rng::with_seed(seed)));
            assert!(made.bytes.len() <= REQUEST_BYTES_MAX + 300_000);
            manners.push(made.manner);
        }
        manners.sort_unstable();
        manners.dedup();
        assert_eq!(manners, Manner::ALL);
    }

    #[test]
    fn actions_are_asked_for_with_their_method_and_their_header() {
        let made = (0..2_000).map(|seed| attempt(&mut Rng::with_seed(seed)).bytes);
        let action = made.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).find(|text| {
            text.starts_with("POST /plugins/good/pause")
                && text.contains("X-Informant-Action: true")
        });
        assert!(action.is_some());
    }

    #[test]
    fn most_requests_are_ones_that_a_server_reads() {
        let made = (0..1_000).map(|seed| attempt(&mut Rng::with_seed(seed)).bytes);
        let well = made.filter(|bytes| {
            bytes.starts_with(b"GET /") && bytes.windows(4).any(|it| it == b"\r\n\r\n")
        });
        assert!(well.count() > 400);
    }
}
