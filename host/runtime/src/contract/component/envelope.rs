//! The outermost form of a plugin file, before any process parses it: the header, and whether all declared sections
//! are complete.
//!
//! This runs in the host. It allocates nothing and reads only each section's head, so its cost is bounded for any
//! file.

use super::ContractError;

/// The first four bytes of core modules and components.
const MAGIC: &[u8] = b"\0asm";
/// Magic, version and layer.
const HEADER_BYTES: usize = 8;
/// The number of sections that are visited. The largest known component has some hundred. The compiler process reports
/// the problem of a file with more.
const SECTIONS_MAX: usize = 100_000;

/// Refuses a file that is not WebAssembly, or that has an incomplete section.
pub(crate) fn check_envelope(file: &[u8]) -> Result<(), ContractError> {
    if file.starts_with(b"\x7fELF") {
        return Err(ContractError::Precompiled);
    }
    if !file.starts_with(MAGIC) {
        return Err(ContractError::NotWasm(looks_like(file)));
    }
    let damaged = |at: usize| {
        let bytes = file.len();
        ContractError::Malformed(format!(
            "a section at byte {at} goes beyond the end; its length is {bytes} bytes"
        ))
    };
    let mut at = HEADER_BYTES;
    for _ in 0..SECTIONS_MAX {
        match file.get(at..) {
            Some([]) => break,
            Some([_kind, rest @ ..]) => {
                let end = section_end(rest).map(|length| at + 1 + length);
                at = end.filter(|end| *end <= file.len()).ok_or_else(|| damaged(at))?;
            }
            None => return Err(damaged(file.len())),
        }
    }
    Ok(())
}

/// The bytes from behind a section's kind to its end: the length field, an unsigned LEB128 of 32 bits, and as many
/// bytes as it says.
fn section_end(rest: &[u8]) -> Option<usize> {
    let mut length = 0_u64;
    for (index, byte) in rest.iter().take(5).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return usize::try_from(length).ok()?.checked_add(index + 1);
        }
    }
    None
}

/// A word for the file's kind. A link may lead to a file that the host can read and the link's author cannot. So no
/// content is shown.
fn looks_like(file: &[u8]) -> &'static str {
    let begins = |with: &[&[u8]]| with.iter().any(|with| file.starts_with(with));
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    match file {
        [] => "it is empty",
        _ if begins(&[b"(module", b"(component"]) => {
            "it is WebAssembly text, to be assembled first"
        }
        _ if begins(&[b"<"]) => "it looks like a page, as where a download failed",
        _ if begins(&[b"version https://git-lfs"]) => "it is what Git LFS leaves in a file's place",
        _ if begins(&[b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd"]) => {
            "it looks like an archive"
        }
        _ if file.iter().take(64).all(is_text) => "it looks like a text",
        _ => "it is something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

    #[track_caller]
    fn check(file: &[u8], expect: &str) {
        let found = check_envelope(file).map_or_else(|error| error.to_string(), |()| String::new());
        match expect {
            "" => assert_eq!(found, ""),
            expect => assert!(found.contains(expect), "{found}"),
        }
    }

    #[test]
    fn sections_that_are_there_are_passed_over() {
        check(COMPONENT, "");
        check(&[COMPONENT, b"\x00\x00"].concat(), "");
        check(&[COMPONENT, b"\x07\x82\x00ab\x00\x01c"].concat(), "");
        let many = b"\x00\x00".repeat(SECTIONS_MAX);
        check(&[COMPONENT, &many, b"\x07\xff"].concat(), "");
    }

    #[test]
    fn a_section_that_claims_more_than_is_there_is_refused() {
        check(&[COMPONENT, b"\x07\xff\xff\xff\xff\x0f"].concat(), "byte 8 goes beyond the end");
        check(&[COMPONENT, b"\x00\x00\x01\x02a"].concat(), "byte 10 goes beyond the end");
        check(&[COMPONENT, b"\x07"].concat(), "byte 8 goes beyond the end");
        // A length of 32 bits never has six bytes.
        check(&[COMPONENT, b"\x07\x80\x80\x80\x80\x80\x00"].concat(), "byte 8 goes beyond");
        check(b"\0asm\x0d", "byte 5 goes beyond the end; its length is 5 bytes");
    }

    #[test]
    fn what_is_not_wasm_is_said_so() {
        check(b"", "not a WebAssembly file (it is empty); drop in the .wasm");
        check(b"(module)", "(it is WebAssembly text, to be assembled first)");
        check(b"<!DOCTYPE html>", "(it looks like a page, as where a download failed)");
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
        check(pointer, "(it is what Git LFS leaves in a file's place)");
        check(b"PK\x03\x04\x14\0", "(it looks like an archive)");
        check(b"\x89PNG\r\n\x1a\n\0\0", "(it is something else)");
        // The text may be a secret behind a link.
        check(b"password: hunter2", "not a WebAssembly file (it looks like a text); drop in");
        check(b"\x7fELF\x02\x01", "compiled code (.cwasm) is not accepted");
    }
}
