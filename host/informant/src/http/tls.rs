//! TLS of the secure address. The certificate is read again when its files change: issuers replace it before it ends.

use crate::pem_file;
use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use std::io;
use std::path::PathBuf;
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

/// The files of a certificate, PEM both.
#[derive(Clone, Debug)]
pub(crate) struct TlsFiles {
    /// The server's certificate, then those of its issuers.
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
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
}

/// How a connection's bytes are carried.
#[derive(Clone)]
pub(crate) enum Transport {
    Plain,
    Tls(Arc<ServerTls>),
}

impl Transport {
    /// The stream over which HTTP is spoken.
    ///
    /// # Errors
    /// The TLS handshake failed.
    pub(super) async fn open<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<Either<S, TlsStream<S>>> {
        match self {
            Self::Plain => Ok(Either::Left(stream)),
            Self::Tls(tls) => tls.acceptor().accept(stream).await.map(Either::Right),
        }
    }
}

impl TlsFiles {
    fn read(&self) -> Result<FileContents> {
        let certificate = pem_file::read(CERTIFICATE, &self.certificate)?;
        Ok(FileContents { certificate, key: pem_file::read(KEY, &self.key)? })
    }

    fn config(&self, contents: &FileContents) -> Result<Arc<ServerConfig>> {
        let chain = pem_file::certificates(CERTIFICATE, &self.certificate, &contents.certificate)?;
        let key_file = self.key.display();
        let key = PrivateKeyDer::from_pem_slice(&contents.key)
            .with_context(|| format!("{KEY} {key_file} has no private key"))?;
        let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
        let config = builder.with_single_cert(chain, key).with_context(|| {
            let certificate = self.certificate.display();
            format!("{CERTIFICATE} {certificate} cannot be used with {KEY} {key_file}")
        });
        let mut config = config?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

impl ServerTls {
    /// Reads the files.
    pub(crate) fn load(files: TlsFiles) -> Result<Self> {
        let contents = files.read()?;
        let config = files.config(&contents)?;
        Ok(Self { files, current: Mutex::new(Loaded { contents, config }) })
    }

    fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.lock().config.clone())
    }

    /// Reads the files again. Whether they have another certificate or key.
    fn reload(&self) -> Result<bool> {
        let contents = self.files.read()?;
        if self.current.lock().contents == contents {
            return Ok(false);
        }
        let config = self.files.config(&contents)?;
        *self.current.lock() = Loaded { contents, config };
        Ok(true)
    }

    /// Follows the files. Files that cannot be used leave the certificate as it is.
    pub(super) async fn follow(self: Arc<Self>) {
        let mut failed = String::new();
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            let this = self.clone();
            let reloaded = tokio::task::spawn_blocking(move || this.reload()).await;
            let failure = match reloaded.map_err(anyhow::Error::from).flatten() {
                Ok(is_new) => {
                    if is_new {
                        info!("the certificate of the secure address was replaced");
                    }
                    String::new()
                }
                Err(error) => format!("{error:#}"),
            };
            if failure != failed && !failure.is_empty() {
                warn!("{failure}; the certificate before stays in use");
            }
            failed = failure;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn testdata(file: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/outbound/testdata").join(file)
    }

    #[track_caller]
    fn check_refused(certificate: &str, key: &str, expect: &[&str]) {
        let files = TlsFiles { certificate: testdata(certificate), key: testdata(key) };
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
        let files = TlsFiles { certificate: path("server.pem"), key: path("server.key") };
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
}
