//! The bytes of an answer's body, decompressed if a server or proxy compressed them.
//!
//! A server may send each event of a watch as its own gzip member (`WatchListCompression`, Kubernetes 1.37); many
//! decoders stop after the first. Here all members are read, and the content of each piece is passed on before more is
//! read. So the bounds of lines and list items also hold for a small body that expands to a huge one.

use crate::error_causes::with_causes;
use crate::list_watch::ListWatchError;
use bytes::{Buf, Bytes};
use flate2::write::MultiGzDecoder;
use http_body_util::BodyExt;
use kube::client::Body;
use std::io::Write;
use tokio::task::yield_now;

/// Compressed bytes that are decoded at once. Deflate expands a byte to at most 1032, so this becomes 4 MiB.
const SLICE_BYTES: usize = 4 << 10;

/// A body, piece by piece.
pub(super) struct Chunks {
    body: Body,
    gzip: Option<Gunzip>,
}

impl Chunks {
    /// `encoding` is the answer's `Content-Encoding`.
    pub(super) fn new(body: Body, encoding: Option<&str>) -> Result<Self, ListWatchError> {
        let gzip = match encoding.map(str::to_ascii_lowercase).as_deref() {
            None | Some("identity" | "") => None,
            Some("gzip" | "x-gzip") => Some(Gunzip::new()),
            Some(other) => {
                let message =
                    format!("it is encoded as {other:?} although only identity was asked for");
                return Err(ListWatchError::Unreadable { message });
            }
        };
        Ok(Self { body, gzip })
    }

    /// The next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, ListWatchError> {
        loop {
            if let Some(gzip) = &mut self.gzip
                && let Some(plain) = gzip.next().map_err(|error| damaged(&error))?
            {
                // The decoding took some milliseconds, and the next piece may be there already.
                yield_now().await;
                return Ok(Some(plain));
            }
            match self.body.frame().await {
                None => return self.end().map(|()| None),
                Some(Err(error)) => return Err(ListWatchError::transient(with_causes(&error))),
                Some(Ok(frame)) => match (frame.into_data(), &mut self.gzip) {
                    (Ok(data), Some(gzip)) => gzip.feed(data),
                    (Ok(data), None) => return Ok(Some(data)),
                    // Trailers.
                    (Err(_), _) => {}
                },
            }
        }
    }

    fn end(&mut self) -> Result<(), ListWatchError> {
        if self.gzip.as_mut().is_some_and(Gunzip::is_within_member) {
            return Err(ListWatchError::transient("gzip broke off within a member"));
        }
        Ok(())
    }
}

fn damaged(error: &std::io::Error) -> ListWatchError {
    ListWatchError::Unreadable { message: format!("its gzip is damaged: {error}") }
}

/// Decodes gzip members, one after the other.
pub(super) struct Gunzip {
    decoder: MultiGzDecoder<Vec<u8>>,
    compressed: Bytes,
    /// Whether any bytes were fed.
    begun: bool,
}

impl Gunzip {
    pub(super) fn new() -> Self {
        Self { decoder: MultiGzDecoder::new(Vec::new()), compressed: Bytes::new(), begun: false }
    }

    /// Takes compressed bytes. First call [`Gunzip::next`] until it returns `None`.
    pub(super) fn feed(&mut self, compressed: Bytes) {
        debug_assert!(self.compressed.is_empty(), "what was fed before was decoded");
        self.begun |= !compressed.is_empty();
        self.compressed = compressed;
    }

    /// The next decoded bytes; `None` if more input is needed.
    pub(super) fn next(&mut self) -> std::io::Result<Option<Bytes>> {
        while !self.compressed.is_empty() {
            let slice = &self.compressed[..self.compressed.len().min(SLICE_BYTES)];
            let taken = self.decoder.write(slice)?;
            if taken == 0 {
                return Err(std::io::Error::other("its end is followed by something else"));
            }
            self.compressed.advance(taken);
            self.decoder.flush()?;
            let plain = std::mem::take(self.decoder.get_mut());
            if !plain.is_empty() {
                return Ok(Some(plain.into()));
            }
        }
        Ok(None)
    }

    /// Whether a member has begun and not ended: its checksum is missing.
    pub(super) fn is_within_member(&mut self) -> bool {
        self.begun && self.decoder.try_finish().is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).expect("it is written to memory");
        encoder.finish().expect("it is written to memory")
    }

    /// The output of each piece, and whether the end is complete.
    fn decode(pieces: &[&[u8]]) -> std::io::Result<(Vec<Vec<u8>>, bool)> {
        let mut gzip = Gunzip::new();
        let mut found = Vec::new();
        for piece in pieces {
            gzip.feed(Bytes::copy_from_slice(piece));
            let mut plain = Vec::new();
            while let Some(bytes) = gzip.next()? {
                assert!(bytes.len() <= 1032 * SLICE_BYTES, "{} bytes at once", bytes.len());
                plain.extend_from_slice(&bytes);
            }
            found.push(plain);
        }
        Ok((found, !gzip.is_within_member()))
    }

    #[test]
    fn each_member_is_read_as_soon_as_it_is_there() {
        let (first, second) = (member(b"one\n"), member(b"two\n"));
        let (found, ended) = decode(&[&first, &second]).expect("gzip");
        assert_eq!((found, ended), (vec![b"one\n".to_vec(), b"two\n".to_vec()], true));
    }

    #[test]
    fn the_pieces_do_not_matter() {
        let whole = [member(b"one\n"), member(b""), member(&b"two\n".repeat(100))].concat();
        let plain = [b"one\n".to_vec(), b"two\n".repeat(100)].concat();
        for at in 0..=whole.len() {
            let (left, right) = whole.split_at(at);
            let (found, ended) = decode(&[left, right]).expect("gzip");
            assert_eq!((found.concat(), ended), (plain.clone(), true), "cut at {at}");
        }
        let bytes: Vec<&[u8]> = whole.chunks(1).collect();
        let (found, ended) = decode(&bytes).expect("gzip");
        assert_eq!((found.concat(), ended), (plain, true));
    }

    #[test]
    fn a_member_that_breaks_off_is_noticed() {
        let whole = member(b"one\n");
        for at in 1..whole.len() {
            let (_, ended) = decode(&[&whole[..at]]).expect("gzip");
            assert!(!ended, "cut at {at}");
        }
        assert!(decode(&[]).expect("gzip").1, "an empty body has no member");
    }

    #[test]
    fn what_unfolds_without_end_is_handed_on_piece_by_piece() {
        let bomb = member(&vec![b'x'; 64 << 20]);
        let (found, ended) = decode(&[&bomb]).expect("gzip");
        assert_eq!((found[0].len(), ended), (64 << 20, true));
    }

    #[test]
    fn damage_is_an_error() {
        assert!(decode(&[b"no gzip at all, only some text"]).is_err());
        let mut damaged = member(b"one\n");
        let last = damaged.len() - 6;
        damaged[last] ^= 0xff;
        assert!(decode(&[&damaged, &member(b"two\n")]).is_err(), "the check sum is wrong");
    }
}
