//! What a host hands to the process that compiles, in frames of a length in eight bytes, little-endian, and as many bytes: the component;
//! the directory in which its functions are kept and the name that they have there, both empty where none are; how many bytes the directory
//! may hold, as eight.

use super::cache::{CodeCacheOptions, CodeKey};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// What the host hands over at most: its largest plugin file, and what turning a core module into a component adds.
const COMPONENT_BYTES_MAX: u64 = 80 << 20;
/// A path, a name or a number.
const WORD_BYTES_MAX: u64 = 8 << 10;

/// What is to be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) component: Vec<u8>,
    pub(super) functions: Option<FunctionsOf>,
}

/// Where the plugin's functions are kept from one version to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FunctionsOf {
    pub(super) cache: CodeCacheOptions,
    pub(super) key: CodeKey,
}

impl Order {
    /// To the process.
    pub(super) async fn write(&self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        write_frame(to, &self.component).await?;
        let functions = self.functions.as_ref();
        let directory =
            functions.map(|of| of.cache.directory.as_os_str().as_bytes()).unwrap_or_default();
        write_frame(to, directory).await?;
        write_frame(to, functions.map(|of| of.key.name().as_bytes()).unwrap_or_default()).await?;
        let bytes_max = functions.map_or(0, |of| of.cache.bytes_max);
        write_frame(to, &bytes_max.to_le_bytes()).await?;
        to.flush().await
    }

    /// In the process.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let component = read_frame(from, COMPONENT_BYTES_MAX)?;
        let directory = read_frame(from, WORD_BYTES_MAX)?;
        let name = read_frame(from, WORD_BYTES_MAX)?;
        let bytes_max = read_frame(from, WORD_BYTES_MAX)?;
        let invalid = |_| io::Error::from(io::ErrorKind::InvalidData);
        let bytes_max = bytes_max.try_into().map(u64::from_le_bytes).map_err(invalid)?;
        let name = String::from_utf8(name).map_err(|_| io::ErrorKind::InvalidData)?;
        let directory = OsString::from_vec(directory);
        let functions = (!directory.is_empty()).then(|| FunctionsOf {
            cache: CodeCacheOptions {
                directory: directory.into(),
                bytes_max,
                keeps_functions: true,
            },
            key: CodeKey::named(name),
        });
        Ok(Self { component, functions })
    }
}

async fn write_frame(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    to.write_u64_le(bytes.len() as u64).await?;
    to.write_all(bytes).await
}

fn read_frame(from: &mut impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > bytes_max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn written(order: &Order) -> Vec<u8> {
        let mut bytes = Vec::new();
        order.write(&mut bytes).await.expect("memory takes it");
        bytes
    }

    async fn check(order: Order) {
        let bytes = written(&order).await;
        assert_eq!(Order::read(&mut bytes.as_slice()).expect("it is whole"), order);
        for length in 0..bytes.len() {
            assert!(Order::read(&mut &bytes[..length]).is_err(), "{length} of {}", bytes.len());
        }
    }

    #[tokio::test]
    async fn what_is_handed_over_arrives() {
        check(Order { component: vec![], functions: None }).await;
        let directory = OsString::from_vec(b"/not utf-8 \xff".to_vec()).into();
        let cache = CodeCacheOptions { directory, bytes_max: 1 << 40, keeps_functions: true };
        let functions = Some(FunctionsOf { cache, key: CodeKey::named("abc".to_owned()) });
        check(Order { component: vec![1, 2, 3], functions }).await;
    }

    #[tokio::test]
    async fn what_is_too_large_is_not_taken() {
        let mut bytes = (COMPONENT_BYTES_MAX + 1).to_le_bytes().to_vec();
        bytes.resize(100, 0);
        let error = Order::read(&mut bytes.as_slice()).expect_err("it is too large");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
