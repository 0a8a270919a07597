//! The files of certificates that a configuration names, which are renewed while a program runs.
//!
//! client-go reads those of a client certificate again (`k8s.io/client-go/transport/cert_rotation.go`). kube reads only a
//! Pod's authorities again, within a handshake, where a file on a lost volume stops a thread of the runtime.

use super::read;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use kube::config::{AuthInfo, KubeconfigError, LoadDataError};
use kube::{Config, Error};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use std::io;
use std::path::PathBuf;

/// Files, and the configuration with their content.
pub(super) struct TlsFiles {
    files: Vec<TlsFile>,
    contents: Vec<Vec<u8>>,
    config: Config,
}

struct TlsFile {
    path: PathBuf,
    part: TlsPart,
}

#[derive(Clone, Copy)]
enum TlsPart {
    Authorities,
    Certificate,
    Key,
}

impl TlsFiles {
    /// The files of a configuration, not yet read.
    pub(super) fn new(mut config: Config) -> Self {
        let AuthInfo {
            client_certificate,
            client_certificate_data,
            client_key,
            client_key_data,
            ..
        } = &mut config.auth_info;
        // Data has precedence, as in kube and client-go.
        let certificate = client_certificate.take().filter(|_| client_certificate_data.is_none());
        let key = client_key.take().filter(|_| client_key_data.is_none());
        let authorities = config.root_cert_file.take().filter(|_| !config.accept_invalid_certs);
        let files = [
            (authorities, TlsPart::Authorities),
            (certificate.map(PathBuf::from), TlsPart::Certificate),
            (key.map(PathBuf::from), TlsPart::Key),
        ];
        let files =
            files.into_iter().filter_map(|(path, part)| Some(TlsFile { path: path?, part }));
        Self { files: files.collect(), contents: Vec::new(), config }
    }

    /// Takes everything out of the configuration that makes a header.
    pub(super) fn forget_tokens(&mut self) {
        let user = &mut self.config.auth_info;
        (user.exec, user.auth_provider, user.token_file) = (None, None, None);
        (user.token, user.username, user.password) = (None, None, None);
    }

    /// Reads no file any more.
    pub(super) fn forget_files(&mut self) {
        self.files.clear();
    }

    /// The next [`Self::read`] returns every content as new.
    pub(super) fn forget_contents(&mut self) {
        self.contents.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The configuration with the content at the last [`Self::read`], without files.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// Reads the files. Returns whether the content of one is new.
    ///
    /// # Errors
    /// A file cannot be read or used. The configuration stays as it was.
    pub(super) fn read(&mut self) -> Result<bool, Error> {
        let contents: Vec<Vec<u8>> =
            self.files.iter().map(TlsFile::read).collect::<Result<_, _>>()?;
        if contents == self.contents {
            return Ok(false);
        }
        let mut config = self.config.clone();
        for (file, content) in self.files.iter().zip(&contents) {
            file.put(content, &mut config)?;
        }
        (self.contents, self.config) = (contents, config);
        Ok(true)
    }
}

impl TlsFile {
    fn read(&self) -> Result<Vec<u8>, Error> {
        read(&self.path).map_err(|error| self.problem(error))
    }

    fn put(&self, content: &[u8], config: &mut Config) -> Result<(), Error> {
        let user = &mut config.auth_info;
        match self.part {
            TlsPart::Authorities => {
                let found = CertificateDer::pem_slice_iter(content);
                let found = found.map(|found| found.map(|certificate| certificate.to_vec()));
                let found: Result<Vec<_>, _> = found.collect();
                let found = found.map_err(|error| self.problem(io::Error::other(error)))?;
                if found.is_empty() {
                    return Err(self.problem(io::Error::other("it has no certificate in PEM")));
                }
                config.root_cert = Some(found);
            }
            TlsPart::Certificate => {
                user.client_certificate_data = Some(BASE64_STANDARD.encode(content));
            }
            TlsPart::Key => user.client_key_data = Some(BASE64_STANDARD.encode(content).into()),
        }
        Ok(())
    }

    fn problem(&self, error: io::Error) -> Error {
        let error = LoadDataError::ReadFile(error, self.path.clone());
        Error::InferKubeconfig(match self.part {
            TlsPart::Authorities => KubeconfigError::LoadCertificateAuthority(error),
            TlsPart::Certificate => KubeconfigError::LoadClientCertificate(error),
            TlsPart::Key => KubeconfigError::LoadClientKey(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// The form of a certificate in PEM; nothing here looks into it.
    const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

    fn config() -> Config {
        Config::new("https://127.0.0.1:1".parse().expect("a URI"))
    }

    fn of_authorities(path: &Path) -> TlsFiles {
        let mut config = config();
        config.root_cert_file = Some(path.to_owned());
        TlsFiles::new(config)
    }

    #[test]
    fn data_of_a_configuration_has_precedence_over_its_files() {
        let mut config = config();
        config.auth_info.client_certificate = Some("/nowhere/client.crt".to_owned());
        config.auth_info.client_certificate_data = Some("YQ==".to_owned());
        config.auth_info.client_key = Some("/nowhere/client.key".to_owned());
        config.auth_info.client_key_data = Some("YQ==".to_owned().into());
        let mut files = TlsFiles::new(config);
        assert!(files.is_empty());
        assert!(!files.read().expect("there are no files"), "nothing is new");
    }

    #[test]
    fn new_authorities_are_seen_and_broken_ones_leave_the_last() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("ca.crt");
        let mut files = of_authorities(&path);
        let write = |text: &str| fs::write(&path, text).expect("it is written");
        write(AUTHORITY);
        assert!(files.read().expect("a certificate"), "the first content is new");
        assert!(!files.read().expect("a certificate"), "nothing has changed");
        for broken in ["", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            write(broken);
            let error = files.read().expect_err("no certificate").to_string();
            assert!(error.contains("ca.crt"), "{error}");
            assert_eq!(files.config().root_cert.as_deref(), Some(&[vec![0; 3]][..]));
        }
        write(&AUTHORITY.repeat(2));
        assert!(files.read().expect("two certificates"), "they are new");
        assert_eq!(files.config().root_cert.as_deref(), Some(&[vec![0; 3], vec![0; 3]][..]));
    }

    #[test]
    fn authorities_are_not_read_if_the_server_is_not_checked() {
        let mut config = config();
        (config.accept_invalid_certs, config.root_cert_file) =
            (true, Some("/nowhere/ca.crt".into()));
        assert!(TlsFiles::new(config).is_empty());
    }
}
