//! Files that a command line names.

use anyhow::{Context as _, Result, ensure};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The content of a file of at most so many bytes. It may be a pipe.
pub(super) fn read(file: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let unreadable = || format!("{} cannot be read", file.display());
    let opened = File::open(file).with_context(unreadable)?;
    let mut content = Vec::new();
    opened.take(bytes_max + 1).read_to_end(&mut content).with_context(unreadable)?;
    let is_short = content.len() as u64 <= bytes_max;
    ensure!(
        is_short,
        "{} has more than {bytes_max} bytes; at most so many are read",
        file.display()
    );
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_read_up_to_its_bound() {
        let error = read(Path::new("/dev/zero"), 10).expect_err("it has no end").to_string();
        assert_eq!(error, "/dev/zero has more than 10 bytes; at most so many are read");
        assert_eq!(read(Path::new("/dev/null"), 0).expect("nothing"), b"");
    }
}
