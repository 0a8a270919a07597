//! The trusted certificate authorities: those of the system, and those of a file that the host's operator names.

use crate::pem_file;
use anyhow::{Context as _, Result};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;

/// Reads the system's authorities at the first HTTPS request, because most hosts never send one.
pub(crate) struct Tls {
    /// The option that names more authorities.
    option: String,
    more: Vec<CertificateDer<'static>>,
    connector: OnceCell<TlsConnector>,
}

impl Tls {
    /// Adds the authorities of this file.
    pub(crate) fn new(option: &str, file: Option<&Path>) -> Result<Self> {
        let more = file.map(|file| authorities(option, file)).transpose()?;
        let (option, more) = (option.to_owned(), more.unwrap_or_default());
        Ok(Self { option, more, connector: OnceCell::new() })
    }

    pub(crate) async fn connector(&self) -> Result<TlsConnector, String> {
        let load = || async {
            let (option, more) = (self.option.clone(), self.more.clone());
            let loaded = tokio::task::spawn_blocking(move || connector(&option, more)).await;
            loaded.map_err(|error| error.to_string())?
        };
        self.connector.get_or_try_init(load).await.cloned()
    }
}

fn authorities(option: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let found = pem_file::certificates(option, file, &pem_file::read(option, file)?)?;
    let mut roots = RootCertStore::empty();
    for certificate in &found {
        let problem = || format!("{option} {} cannot be used", file.display());
        roots.add(certificate.clone()).with_context(problem)?;
    }
    Ok(found)
}

fn connector(option: &str, more: Vec<CertificateDer<'static>>) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    // Certificates that the system has in unusual formats are skipped.
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs.into_iter().chain(more));
    if roots.is_empty() {
        return Err(format!(
            "this machine knows no certificate authority: install them, or name some with {option}"
        ));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
