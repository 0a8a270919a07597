//! The user that a client's certificate names, as an API server reads it (`x509.CommonNameUserConversion`): the common
//! name is the user, and the organizations are its groups. The TLS handshake has verified the certificate.

use k8s_openapi::api::authentication::v1::UserInfo;
use rustls::pki_types::CertificateDer;
use std::sync::Arc;
use std::time::SystemTime;
use tracing::debug;
use x509_cert::Certificate;
use x509_cert::der::oid::db::rfc4519;
use x509_cert::der::{self, Decode as _};
use x509_cert::ext::pkix::name::DirectoryString;
use x509_cert::name::Name;

/// The group of all known users, and that of all others.
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user without a name.
const ANONYMOUS: &str = "system:anonymous";

/// A user, for as long as the certificate is valid.
#[derive(Clone, Debug)]
pub(super) struct ClientCertificate {
    user: Arc<UserInfo>,
    not_after: SystemTime,
}

impl ClientCertificate {
    /// Reads a certificate. None if it names no user, or names one in a way that is not understood.
    pub(super) fn read(certificate: &CertificateDer<'_>) -> Option<Self> {
        let parsed = Certificate::from_der(certificate).and_then(|certificate| {
            let content = certificate.tbs_certificate();
            let not_after = content.validity().not_after.to_system_time();
            Ok(named(content.subject())?.map(|user| Self { user: Arc::new(user), not_after }))
        });
        parsed.unwrap_or_else(|error| {
            debug!("the name in a client's certificate cannot be read: {error}");
            None
        })
    }

    /// The user. None once the certificate has ended, which its connection may outlive.
    pub(super) fn user(&self, now: SystemTime) -> Option<Arc<UserInfo>> {
        (now <= self.not_after).then(|| self.user.clone())
    }
}

/// The user of a name. Of several common names the last one counts, as in Go.
fn named(name: &Name) -> der::Result<Option<UserInfo>> {
    let (mut user, mut groups) = (String::new(), Vec::new());
    for part in name.iter() {
        let text = || DirectoryString::try_from(&part.value).map(|text| text.value().into_owned());
        match part.oid {
            rfc4519::CN => user = text()?,
            rfc4519::O => groups.push(text()?),
            _ => {}
        }
    }
    if user.is_empty() {
        return Ok(None);
    }
    // Kubernetes' `AuthenticatedGroupAdder`.
    let has_group = groups.iter().any(|group| [AUTHENTICATED, UNAUTHENTICATED].contains(&&**group));
    if user != ANONYMOUS && !has_group {
        groups.push(AUTHENTICATED.to_owned());
    }
    Ok(Some(UserInfo { username: Some(user), groups: Some(groups), ..UserInfo::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::pem::PemObject as _;
    use std::path::Path;
    use std::time::Duration;

    impl ClientCertificate {
        /// The certificate of a user, which ends in an hour or has ended an hour ago.
        pub(in super::super) fn of_test(name: &str, is_valid: bool) -> Self {
            let user = UserInfo { username: Some(name.to_owned()), ..UserInfo::default() };
            let (now, hour) = (SystemTime::now(), Duration::from_secs(3600));
            let not_after = if is_valid { now + hour } else { now - hour };
            Self { user: Arc::new(user), not_after }
        }
    }

    fn read(file: &str) -> Option<ClientCertificate> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/testdata").join(file);
        ClientCertificate::read(&CertificateDer::from_pem_file(path).expect("it is there"))
    }

    /// User and groups of a certificate.
    #[track_caller]
    fn check(file: &str, expect: Option<(&str, &[&str])>) {
        let user = read(file).and_then(|certificate| certificate.user(SystemTime::UNIX_EPOCH));
        let found = user.map(|user| {
            (user.username.clone().unwrap_or_default(), user.groups.clone().unwrap_or_default())
        });
        let expect = expect.map(|(user, groups)| {
            (user.to_owned(), groups.iter().map(|&group| group.to_owned()).collect())
        });
        assert_eq!(found, expect, "{file}");
    }

    #[test]
    fn the_common_name_is_the_user_and_organizations_are_groups() {
        check("jane.pem", Some(("jane", &["readers", "auditors", "system:authenticated"])));
        check("admin.pem", Some(("admin", &["system:masters", "system:authenticated"])));
        check("two-names.pem", Some(("second", &["Größe", "system:authenticated"])));
        check("anonymous.pem", Some(("system:anonymous", &[])));
        check("nameless.pem", None);
    }

    #[test]
    fn bytes_that_are_no_certificate_have_no_user() {
        assert!(ClientCertificate::read(&CertificateDer::from(vec![0x30, 0x03, 1, 2])).is_none());
    }

    #[test]
    fn a_certificate_that_has_ended_has_no_user() {
        let certificate = read("jane.pem").expect("a user");
        let end = certificate.not_after;
        assert!(certificate.user(end).is_some());
        assert!(certificate.user(end + Duration::from_secs(1)).is_none());
    }
}
