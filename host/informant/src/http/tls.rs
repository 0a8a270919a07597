//! TLS of the secure address. The certificate is read again when its files change: issuers replace it before it ends.

use anyhow::{Context, Result, ensure};
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fs::File;
use std::io::{self, Read as _};
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
/// Some hundred certificates.
const FILE_BYTES_MAX: u64 = 1 << 20;

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
    certificate: Vec<u8>,
    key: Vec<u8>,
    config: Arc<ServerConfig>,
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
    fn load(&self) -> Result<Loaded> {
        let certificate = read("--tls-cert-file", &self.certificate)?;
        let key = read("--tls-private-key-file", &self.key)?;
        let config = config(&certificate, &key).with_context(|| {
            let (certificate, key) = (self.certificate.display(), self.key.display());
            format!(
                "--tls-cert-file {certificate} cannot be used with --tls-private-key-file {key}"
            )
        })?;
        Ok(Loaded { certificate, key, config: Arc::new(config) })
    }
}

impl ServerTls {
    /// Reads the files.
    pub(crate) fn load(files: TlsFiles) -> Result<Self> {
        let current = Mutex::new(files.load()?);
        Ok(Self { files, current })
    }

    fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.lock().config.clone())
    }

    /// Reads the files again. Whether they have another certificate or key.
    fn reload(&self) -> Result<bool> {
        let loaded = self.files.load()?;
        let mut current = self.current.lock();
        let is_new = (&loaded.certificate, &loaded.key) != (&current.certificate, &current.key);
        if is_new {
            *current = loaded;
        }
        Ok(is_new)
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

fn read(option: &str, path: &Path) -> Result<Vec<u8>> {
    let problem = || format!("{option} {} cannot be read", path.display());
    // The open of a pipe would wait for a writer.
    let is_file = std::fs::metadata(path).with_context(problem)?.is_file();
    ensure!(is_file, "{option} {} is no file", path.display());
    let file = File::open(path).with_context(problem)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).with_context(problem)?;
    let is_short = bytes.len() as u64 <= FILE_BYTES_MAX;
    ensure!(is_short, "{option} {} has more than {FILE_BYTES_MAX} bytes", path.display());
    Ok(bytes)
}

fn config(certificate: &[u8], key: &[u8]) -> Result<ServerConfig> {
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
    let chain = chain.context("the certificate is no PEM")?;
    ensure!(!chain.is_empty(), "the certificate's file has no certificate: it is to be PEM");
    let key = PrivateKeyDer::from_pem_slice(key).context("the key's file has no private key")?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

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
