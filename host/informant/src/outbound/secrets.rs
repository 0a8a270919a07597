//! Credentials that the host adds to plugins' requests: files of one directory, such as a mounted Secret. Each file is
//! read when it is used, so that a change takes effect. No error contains any of its content.

use anyhow::{Context, Result};
use http::HeaderValue;
use informant_runtime::{SecretHeader, SecretName};
use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The size that most servers allow for a header's value.
const SECRET_BYTES_MAX: u64 = 8 << 10;

/// The directory of the credentials.
pub(super) struct Secrets {
    directory: Option<PathBuf>,
}

/// One header, ready to be added.
pub(super) struct Secret {
    pub(super) header: String,
    /// Marked as sensitive, so that it is not shown.
    pub(super) value: HeaderValue,
    /// The part of the value that comes from the file.
    pub(super) content: Vec<u8>,
}

impl Secrets {
    /// An error if the directory does not exist. Its files may be created later.
    pub(super) fn new(directory: Option<PathBuf>) -> Result<Self> {
        if let Some(directory) = &directory {
            let problem = || format!("--secrets {} cannot be read", directory.display());
            std::fs::read_dir(directory).with_context(problem)?;
        }
        Ok(Self { directory })
    }

    /// The headers to add.
    pub(super) async fn read(&self, headers: &[SecretHeader]) -> Result<Vec<Secret>, String> {
        if headers.is_empty() {
            return Ok(Vec::new());
        }
        let Some(directory) = self.directory.clone() else {
            let names: Vec<&str> = headers.iter().map(|it| it.secret().as_str()).collect();
            let names = names.join(", ");
            return Err(format!(
                "the host adds secrets to it ({names}) and has none: name their directory with --secrets"
            ));
        };
        let headers = headers.to_vec();
        let read = move || headers.iter().map(|header| secret(&directory, header)).collect();
        tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?
    }
}

fn secret(directory: &Path, header: &SecretHeader) -> Result<Secret, String> {
    let name = header.secret();
    let problem = |problem: &dyn std::fmt::Display| {
        format!("the secret {name} in the directory of --secrets cannot be used: {problem}")
    };
    let read = match read(directory, name) {
        // A mounted Secret may have been replaced at this moment.
        Err(error) if error.kind() == ErrorKind::NotFound => read(directory, name),
        read => read,
    };
    // On the wire, a value has no blanks at its ends. So the content that is searched for in an answer has none
    // either.
    let content = read.map_err(|error| problem(&error))?.trim_ascii().to_vec();
    if content.is_empty() {
        return Err(problem(&"it is empty"));
    }
    let value = [header.prefix().as_bytes(), &content].concat();
    let value = HeaderValue::from_bytes(&value);
    let mut value = value.map_err(|_| problem(&"it has characters that no header has"))?;
    // Invariant 39.
    value.set_sensitive(true);
    Ok(Secret { header: header.name().to_owned(), value, content })
}

/// Reads a file below the directory. It follows links that stay below the directory, as the links of a mounted Secret
/// do.
fn read(directory: &Path, name: &SecretName) -> io::Result<Vec<u8>> {
    let directory = directory.canonicalize()?;
    let path = directory.join(name.as_str()).canonicalize()?;
    if !path.starts_with(&directory) {
        return Err(io::Error::other("it is a link that leads out of there"));
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut content = Vec::new();
    file.take(SECRET_BYTES_MAX + 1).read_to_end(&mut content)?;
    match content.len() as u64 {
        0..=SECRET_BYTES_MAX => Ok(content),
        _ => Err(io::Error::other(format!("it has more than {SECRET_BYTES_MAX} bytes"))),
    }
}

#[cfg(test)]
mod tests;
