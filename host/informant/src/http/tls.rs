//! TLS of the secure address. The files are read again when they change: issuers replace a certificate before it ends.

use super::client_certificate::ClientCertificate;
use crate::pem_file;
use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tracing::{info, warn};

/// How often the files are read.
const LOOK_INTERVAL: Duration = Duration::from_secs(10);
const CERTIFICATE: &str = "--tls-cert-file";
const KEY: &str = "--tls-private-key-file";
const CLIENT_AUTHORITIES: &str = "--client-ca-file";

/// The files of a certificate and of callers' authorities, PEM all of them.
#[derive(Clone, Debug)]
pub(crate) struct TlsFiles {
    /// The server's certificate, then those of its issuers.
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    /// The authorities of callers' certificates. None: callers have tokens alone.
    pub(crate) client_authorities: Option<PathBuf>,
}

/// A certificate in use, and the files that it came from.
pub(crate) struct ServerTls {
    files: TlsFiles,
    current: Mutex<Loaded>,
}

struct Loaded {
    contents: FileContents,
    config: Arc<ServerConfig>,
}

#[derive(PartialEq, Eq)]
struct FileContents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_authorities: Option<Vec<u8>>,
}

/// A stream over which HTTP is spoken, and the certificate of its client.
pub(super) struct Opened<S> {
    pub(super) stream: Either<S, TlsStream<S>>,
    pub(super) client: Option<ClientCertificate>,
}

/// How a connection's bytes are carried.
#[derive(Clone)]
pub(crate) enum Transport {
    Plain,
    Tls(Arc<ServerTls>),
}

impl Transport {
    /// Opens the stream.
    ///
    /// # Errors
    /// The TLS handshake failed, for example because of the client's certificate.
    pub(super) async fn open<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<Opened<S>> {
        let tls = match self {
            Self::Plain => return Ok(Opened { stream: Either::Left(stream), client: None }),
            Self::Tls(tls) => tls,
        };
        let stream = tls.acceptor().accept(stream).await?;
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let client = chain.first().and_then(ClientCertificate::read);
        Ok(Opened { stream: Either::Right(stream), client })
    }
}

impl TlsFiles {
    fn read(&self) -> Result<FileContents> {
        let authorities = self.client_authorities.as_deref();
        let authorities = authorities.map(|path| pem_file::read(CLIENT_AUTHORITIES, path));
        Ok(FileContents {
            certificate: pem_file::read(CERTIFICATE, &self.certificate)?,
            key: pem_file::read(KEY, &self.key)?,
            client_authorities: authorities.transpose()?,
        })
    }

    fn config(&self, contents: &FileContents) -> Result<Arc<ServerConfig>> {
        let chain = pem_file::certificates(CERTIFICATE, &self.certificate, &contents.certificate)?;
        let key_file = self.key.display();
        let key = PrivateKeyDer::from_pem_slice(&contents.key)
            .with_context(|| format!("{KEY} {key_file} has no private key"))?;
        let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = match (&self.client_authorities, &contents.client_authorities) {
            (Some(path), Some(content)) => {
                builder.with_client_cert_verifier(verifier(path, content)?)
            }
            _ => builder.with_no_client_auth(),
        };
        let config = builder.with_single_cert(chain, key).with_context(|| {
            let certificate = self.certificate.display();
            format!("{CERTIFICATE} {certificate} cannot be used with {KEY} {key_file}")
        });
        let mut config = config?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// Verifies certificates of clients. A client without one may go on.
fn verifier(path: &Path, content: &[u8]) -> Result<Arc<dyn ClientCertVerifier>> {
    let problem = || format!("{CLIENT_AUTHORITIES} {} cannot be used", path.display());
    let mut authorities = RootCertStore::empty();
    for authority in pem_file::certificates(CLIENT_AUTHORITIES, path, content)? {
        authorities.add(authority).with_context(problem)?;
    }
    let (authorities, provider) = (Arc::new(authorities), Arc::new(default_provider()));
    let builder = WebPkiClientVerifier::builder_with_provider(authorities, provider);
    builder.allow_unauthenticated().build().with_context(problem)
}

impl ServerTls {
    /// Reads the files.
    pub(crate) fn load(files: TlsFiles) -> Result<Self> {
        let contents = files.read()?;
        let config = files.config(&contents)?;
        Ok(Self { files, current: Mutex::new(Loaded { contents, config }) })
    }

    /// Whether callers may have certificates.
    pub(super) fn takes_certificates(&self) -> bool {
        self.files.client_authorities.is_some()
    }

    fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.lock().config.clone())
    }

    /// Reads the files again. Whether one of them has another content.
    fn reload(&self) -> Result<bool> {
        let contents = self.files.read()?;
        if self.current.lock().contents == contents {
            return Ok(false);
        }
        let config = self.files.config(&contents)?;
        *self.current.lock() = Loaded { contents, config };
        Ok(true)
    }

    /// Follows the files. Files that cannot be used leave the certificates as they are.
    pub(super) async fn follow(self: Arc<Self>) {
        let mut failed = String::new();
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            let this = self.clone();
            let reloaded = tokio::task::spawn_blocking(move || this.reload()).await;
            let failure = match reloaded.map_err(anyhow::Error::from).flatten() {
                Ok(is_new) => {
                    if is_new {
                        info!("a certificate of the secure address was replaced");
                    }
                    String::new()
                }
                Err(error) => format!("{error:#}"),
            };
            if failure != failed && !failure.is_empty() {
                warn!("{failure}; the certificates before stay in use");
            }
            failed = failure;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::CertificateDer;
    use rustls::{ClientConfig, SupportedProtocolVersion};
    use std::time::SystemTime;
    use tokio_rustls::TlsConnector;

    fn testdata(file: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/outbound/testdata").join(file)
    }

    #[track_caller]
    fn check_refused(certificate: &str, key: &str, expect: &[&str]) {
        let (certificate, key) = (testdata(certificate), testdata(key));
        let files = TlsFiles { certificate, key, client_authorities: None };
        let error = ServerTls::load(files).err().expect("it is refused");
        let text = format!("{error:#}");
        for part in expect {
            assert!(text.contains(part), "no {part:?} in {text:?}");
        }
    }

    #[test]
    fn files_that_are_no_certificate_and_its_key_are_refused_with_their_options() {
        check_refused("nothing.pem", "server.key", &["--tls-cert-file", "cannot be read"]);
        check_refused("server.pem", "nothing.key", &["--tls-private-key-file", "cannot be read"]);
        check_refused("server.key", "server.key", &["has no certificate"]);
        check_refused("server.pem", "server.pem", &["has no private key"]);
        check_refused("authority.pem", "server.key", &["cannot be used with", "server.key"]);
    }

    #[test]
    fn a_replaced_certificate_is_taken_over_and_a_broken_one_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |file: &str| directory.path().join(file);
        for file in ["server.pem", "server.key"] {
            std::fs::copy(testdata(file), path(file)).expect("a copy");
        }
        let (certificate, key) = (path("server.pem"), path("server.key"));
        let files = TlsFiles { certificate, key, client_authorities: None };
        let tls = ServerTls::load(files).expect("they fit");
        let first = tls.current.lock().config.clone();
        assert!(!tls.reload().expect("they are the same"));
        std::fs::write(path("server.pem"), "half of a certifi").expect("it is written");
        assert!(tls.reload().is_err());
        assert!(Arc::ptr_eq(&first, &tls.current.lock().config));
        let text = std::fs::read_to_string(testdata("server.pem")).expect("it is there");
        std::fs::write(path("server.pem"), format!("# again\n{text}")).expect("it is written");
        assert!(tls.reload().expect("they fit"));
        assert!(!Arc::ptr_eq(&first, &tls.current.lock().config));
    }

    fn client_data(file: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/testdata").join(file)
    }

    /// Speaks TLS of this version with a client that shows this certificate, as far as the server's handshake.
    async fn handshake(
        version: &'static SupportedProtocolVersion,
        certificate: Option<&str>,
    ) -> io::Result<Option<ClientCertificate>> {
        let (certificate_file, key) = (testdata("server.pem"), testdata("server.key"));
        let client_authorities = Some(client_data("clients.pem"));
        let files = TlsFiles { certificate: certificate_file, key, client_authorities };
        let transport = Transport::Tls(Arc::new(ServerTls::load(files).expect("they fit")));
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_file(testdata("authority.pem")).expect("it is there");
        roots.add(root).expect("an authority");
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_protocol_versions(&[version]).expect("a version");
        let builder = builder.with_root_certificates(roots);
        let config = match certificate {
            Some(file) => {
                let chain = CertificateDer::from_pem_file(client_data(file)).expect("it is there");
                let key = PrivateKeyDer::from_pem_file(client_data("client.key")).expect("a key");
                builder.with_client_auth_cert(vec![chain], key).expect("they fit")
            }
            None => builder.with_no_client_auth(),
        };
        let (near, far) = tokio::io::duplex(64 << 10);
        let name = "server.test".try_into().expect("a name");
        let connected = TlsConnector::from(Arc::new(config)).connect(name, near);
        let (opened, _client) = tokio::join!(transport.open(far), connected);
        opened.map(|opened| opened.client)
    }

    /// The user of a client with this certificate (`-`: none), or why its handshake is refused.
    async fn check_client(certificate: Option<&str>, expect: Result<&str, &str>) {
        for version in rustls::ALL_VERSIONS {
            match (handshake(version, certificate).await, expect) {
                (Ok(client), Ok(expect)) => {
                    let user = client.and_then(|client| client.user(SystemTime::now()));
                    let user = user.as_ref().and_then(|user| user.username.as_deref());
                    assert_eq!(user.unwrap_or("-"), expect, "{certificate:?}");
                }
                (Err(error), Err(expect)) => {
                    let text = error.to_string();
                    assert!(text.contains(expect), "{certificate:?}: {text}");
                }
                (found, expect) => panic!("{certificate:?}: {found:?}, expected {expect:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_client_has_a_valid_certificate_or_none() {
        check_client(None, Ok("-")).await;
        check_client(Some("jane.pem"), Ok("jane")).await;
        check_client(Some("nameless.pem"), Ok("-")).await;
        check_client(Some("ended.pem"), Err("expired")).await;
        check_client(Some("early.pem"), Err("not valid yet")).await;
        check_client(Some("server-usage.pem"), Err("extended key usage")).await;
        check_client(Some("stranger.pem"), Err("UnknownIssuer")).await;
    }

    #[test]
    fn replaced_authorities_of_clients_are_taken_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let authorities = directory.path().join("clients.pem");
        std::fs::copy(client_data("clients.pem"), &authorities).expect("a copy");
        let (certificate, key) = (testdata("server.pem"), testdata("server.key"));
        let files = TlsFiles { certificate, key, client_authorities: Some(authorities.clone()) };
        let tls = ServerTls::load(files).expect("they fit");
        assert!(!tls.reload().expect("they are the same"));
        std::fs::write(&authorities, "none").expect("it is written");
        let error = format!("{:#}", tls.reload().expect_err("it has no certificate"));
        assert!(error.contains("--client-ca-file"), "{error}");
        std::fs::copy(testdata("authority.pem"), &authorities).expect("a copy");
        assert!(tls.reload().expect("they fit"));
    }
}
