//! The host's order to the compiler process, in frames: a length in eight bytes, little-endian, and as many bytes. The
//! first frame has the file, and the second the functions of the version before. A special length of the second frame
//! says that functions are not kept.

use std::io::{self, Read};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Above the largest plugin file that a host reads.
const FILE_BYTES_MAX: u64 = 80 << 20;
/// Above the functions of the largest plugin.
pub(super) const FUNCTIONS_BYTES_MAX: u64 = 512 << 20;
/// This length means that functions are not kept.
const NOT_KEPT: u64 = u64::MAX;

/// The order, as the process reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompileOrder {
    pub(super) file: Vec<u8>,
    /// The functions of the version before, possibly empty; `None` if functions are not kept.
    pub(super) functions: Option<Vec<u8>>,
}

impl CompileOrder {
    /// Reads an order, in the compiler process.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let file = read_frame(from, FILE_BYTES_MAX)?.ok_or(io::ErrorKind::InvalidData)?;
        let functions = read_frame(from, FUNCTIONS_BYTES_MAX)?;
        Ok(Self { file, functions })
    }
}

/// Writes an order to the compiler process.
pub(super) async fn write(
    file: &[u8],
    functions: Option<&[u8]>,
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    write_frame(to, Some(file)).await?;
    write_frame(to, functions).await?;
    to.flush().await
}

async fn write_frame(to: &mut (impl AsyncWrite + Unpin), bytes: Option<&[u8]>) -> io::Result<()> {
    let Some(bytes) = bytes else { return to.write_u64_le(NOT_KEPT).await };
    to.write_u64_le(bytes.len() as u64).await?;
    to.write_all(bytes).await
}

fn read_frame(from: &mut impl Read, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length == NOT_KEPT {
        return Ok(None);
    }
    if length > bytes_max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(file: &[u8], functions: Option<&[u8]>) {
        let mut bytes = Vec::new();
        write(file, functions, &mut bytes).await.expect("memory takes it");
        let expect = CompileOrder { file: file.to_vec(), functions: functions.map(<[u8]>::to_vec) };
        assert_eq!(CompileOrder::read(&mut bytes.as_slice()).expect("it is whole"), expect);
        for length in 0..bytes.len() {
            assert!(
                CompileOrder::read(&mut &bytes[..length]).is_err(),
                "{length} of {}",
                bytes.len()
            );
        }
    }

    #[tokio::test]
    async fn what_is_handed_over_arrives() {
        check(&[], None).await;
        check(&[1, 2, 3], Some(&[])).await;
        check(&[1, 2, 3], Some(&[4; 100])).await;
    }

    #[track_caller]
    fn check_refused(length: u64, expect: io::ErrorKind) {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.resize(100, 0);
        let error = CompileOrder::read(&mut bytes.as_slice()).expect_err("it is no order");
        assert_eq!(error.kind(), expect);
    }

    #[test]
    fn what_is_too_large_or_no_file_is_not_taken() {
        check_refused(FILE_BYTES_MAX + 1, io::ErrorKind::FileTooLarge);
        check_refused(FILE_BYTES_MAX, io::ErrorKind::UnexpectedEof);
        check_refused(NOT_KEPT, io::ErrorKind::InvalidData);
    }
}
