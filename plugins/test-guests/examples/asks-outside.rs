//! Asks over HTTP, about each pod whose name begins with its own: whom its configuration says, or else the neighbours that nobody is to ask, by every
//! spelling of their addresses.
//!
//! The host must let nothing through that is not granted to it, and say to it what became of everything else.

use informant_plugin::http::{Error, Method, Request};
use informant_plugin::prelude::*;
use serde::Deserialize;

/// What it says at most of a body.
const SHOWN_BYTES_MAX: usize = 100;

/// The plugin.
pub struct AsksOutside {
    asks: Vec<Ask>,
    /// Its own list, and no other: nothing of it may succeed.
    is_sin: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    asks: Vec<Ask>,
}

#[derive(Clone, Deserialize)]
struct Ask {
    what: String,
    url: String,
    #[serde(default)]
    header: Option<(String, String)>,
    #[serde(default)]
    body: Option<String>,
}

/// The cloud's credentials, the host's own pages, the API server.
const NEIGHBOURS: [&str; 8] = [
    "http://169.254.169.254/latest/meta-data/iam/",
    "http://[fd00:ec2::254]/latest/meta-data/iam/",
    "http://127.0.0.1:8888/plugins",
    "http://2130706433:8888/plugins",
    "http://[::ffff:127.0.0.1]:8888/plugins",
    "http://localhost:8888/plugins",
    "https://kubernetes.default.svc/api/v1/secrets",
    "https://example.com@127.0.0.1:8888/plugins",
];

impl Plugin for AsksOutside {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(test_guests::pods())
    }

    fn start(config: &Config) -> Result<Self> {
        let Options { asks } = config.parse()?;
        let is_sin = asks.is_empty();
        let sin = |url: &&str| {
            let (what, url) = ((*url).to_owned(), (*url).to_owned());
            Ask { what, url, header: None, body: None }
        };
        let asks = if is_sin { NEIGHBOURS.iter().map(sin).collect() } else { asks };
        Ok(Self { asks, is_sin })
    }

    fn handle(&mut self, event: Event) -> Result {
        // What it was configured to ask it asks once.
        let is_time = self.is_sin || event.change() == Change::Added;
        if !is_time || !test_guests::is_asked_for("asks-outside", &event) {
            test_guests::behave(&event);
            return Ok(());
        }
        let mut refusal = None;
        for ask in &self.asks {
            match ask.send() {
                Ok(said) => info!("{}: {said}", ask.what),
                Err(error) => {
                    info!("{}: {error}", ask.what);
                    if matches!(error, Error::NotGranted(_)) {
                        refusal = Some(error);
                    }
                }
            }
        }
        info!("asked about {}", event.key());
        match refusal.filter(|_| self.is_sin) {
            Some(refusal) => Err(refusal.into_failure()),
            None => Ok(()),
        }
    }
}

impl Ask {
    /// Status and the beginning of the body.
    fn send(&self) -> std::result::Result<String, Error> {
        let method = if self.body.is_some() { Method::Post } else { Method::Get };
        let mut request = Request::new(method, self.url.as_str());
        if let Some((name, value)) = &self.header {
            request = request.header(name.as_str(), value.as_str());
        }
        let body = self.body.clone().unwrap_or_default();
        let answer = request.body(body).send()?;
        let shown: String = answer.text().chars().take(SHOWN_BYTES_MAX).collect();
        Ok(format!("{} {shown}", answer.status()))
    }
}

export_plugin!(AsksOutside);
