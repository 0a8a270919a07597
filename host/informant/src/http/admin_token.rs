//! The token with which callers on loopback act and read dead letters. A host makes one at its start, and gives it to its own user over
//! the admin socket; `informant dev` also prints it on a terminal. The host writes it to no log, and sends it in no page and no error.

use anyhow::{Result, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac::{self, HMAC_SHA256};
use ring::rand::{SecureRandom as _, SystemRandom};
use std::net::SocketAddr;

/// Bytes of randomness: nobody guesses 128 bits, and the address with them fits into a line of a terminal.
const RANDOM_BYTES: usize = 16;

/// The token. It has no `Debug`, so that no log shows it by mistake.
pub(crate) struct AdminToken {
    text: String,
    key: hmac::Key,
    tag: hmac::Tag,
}

impl AdminToken {
    /// A token of this process.
    pub(crate) fn random() -> Result<Self> {
        let random = SystemRandom::new();
        let mut bytes = [0; RANDOM_BYTES];
        let key = random.fill(&mut bytes).and_then(|()| hmac::Key::generate(HMAC_SHA256, &random));
        let key = key.map_err(|_| anyhow!("the system gives no random numbers for a token"))?;
        let text = URL_SAFE_NO_PAD.encode(bytes);
        let tag = hmac::sign(&key, text.as_bytes());
        Ok(Self { text, key, tag })
    }

    /// Whether this is the token. The time of the comparison says nothing of the token, because the tags of both are compared, in
    /// constant time.
    pub(super) fn is(&self, text: &str) -> bool {
        hmac::verify(&self.key, text.as_bytes(), self.tag.as_ref()).is_ok()
    }

    /// The address of the dashboard with the token. A browser sends the part after `#` to nobody.
    pub(crate) fn dashboard(&self, address: SocketAddr) -> String {
        format!("http://{address}/ui/#token={}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_like_no_other() {
        let [one, other] = [(); 2].map(|()| AdminToken::random().expect("random numbers"));
        assert!(one.is(&one.text) && !one.is(&other.text));
        let (begin, end) = one.text.split_at(10);
        for text in ["", begin, end, &format!("{} ", one.text), &one.text.to_lowercase()] {
            assert!(!one.is(text), "{text:?}");
        }
        assert_eq!(one.text.len(), 22);
    }

    #[test]
    fn the_address_of_the_dashboard_has_it_behind_the_path() {
        let token = AdminToken::random().expect("random numbers");
        let address = token.dashboard("[::1]:8888".parse().expect("an address"));
        assert_eq!(address, format!("http://[::1]:8888/ui/#token={}", token.text));
    }
}
