//! The pieces of answers that callers have not taken yet, of all connections of a listener together.
//!
//! A piece is as large as the object in it, and hundreds of callers that read nothing would have one each until they
//! are cut off at their deadline. So the sum has a bound. Above it, the connection with the oldest piece is cut off: a
//! caller that reads has a new piece all the time.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Ten of the largest objects that an API server takes.
pub(crate) const UNREAD_BYTES_MAX: usize = 16 << 20;

/// The unread pieces of a listener.
#[derive(Default)]
pub(super) struct Unread(Mutex<UnreadPieces>);

#[derive(Default)]
struct UnreadPieces {
    bytes: usize,
    /// The number of the newest piece.
    last: u64,
    by_age: BTreeMap<u64, PieceOfConnection>,
}

struct PieceOfConnection {
    bytes: usize,
    /// Ends the piece's connection.
    cut_off: CancellationToken,
}

/// A piece that its caller has yet to take. It counts until this is dropped.
pub(super) struct UnreadPiece {
    of: Arc<Unread>,
    number: u64,
}

impl Unread {
    /// Counts a piece. Cuts off the connections with the oldest pieces while there are too many bytes, and never that
    /// of this piece.
    pub(super) fn add(self: &Arc<Self>, bytes: usize, cut_off: &CancellationToken) -> UnreadPiece {
        let mut pieces = self.0.lock();
        pieces.make_room(UNREAD_BYTES_MAX.saturating_sub(bytes));
        pieces.bytes += bytes;
        pieces.last += 1;
        let number = pieces.last;
        pieces.by_age.insert(number, PieceOfConnection { bytes, cut_off: cut_off.clone() });
        UnreadPiece { of: self.clone(), number }
    }
}

impl UnreadPieces {
    fn make_room(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.bytes -= oldest.bytes;
            oldest.cut_off.cancel();
        }
    }
}

impl Drop for UnreadPiece {
    fn drop(&mut self) {
        let mut pieces = self.of.0.lock();
        if let Some(taken) = pieces.by_age.remove(&self.number) {
            pieces.bytes -= taken.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Connections that are each given a piece of so many MiB, in turn; a size of 0 takes the piece away. Checks the
    /// connections that are cut off at the end.
    #[track_caller]
    fn check(pieces: &[(usize, usize)], expect: &[usize]) {
        let unread = Arc::<Unread>::default();
        let mut connections: BTreeMap<usize, (CancellationToken, Option<UnreadPiece>)> =
            BTreeMap::new();
        for &(connection, mebibytes) in pieces {
            let (cut_off, piece) = connections.entry(connection).or_default();
            *piece = None;
            *piece = (mebibytes > 0).then(|| unread.add(mebibytes << 20, cut_off));
        }
        let is_cut = |(cut_off, _): &(CancellationToken, _)| cut_off.is_cancelled();
        let cut = connections.iter().filter(|(_, it)| is_cut(it)).map(|(number, _)| *number);
        assert_eq!(cut.collect::<Vec<_>>(), expect, "{pieces:?}");
        drop(connections);
        let left = unread.0.lock();
        assert_eq!((left.bytes, left.by_age.len()), (0, 0), "{pieces:?}");
    }

    #[test]
    fn the_connection_that_reads_nothing_for_longest_is_cut_off_first() {
        check(&[(0, 8), (1, 8)], &[]);
        check(&[(0, 8), (1, 8), (2, 1)], &[0]);
        // The first one reads.
        check(&[(0, 8), (1, 8), (0, 8), (2, 1)], &[1]);
        check(&[(0, 8), (1, 8), (0, 0), (2, 8)], &[]);
        check(&[(0, 4), (1, 4), (2, 4), (3, 4), (4, 10)], &[0, 1, 2]);
    }

    #[test]
    fn a_piece_above_the_bound_is_sent_alone() {
        check(&[(0, 64)], &[]);
        check(&[(0, 1), (1, 64)], &[0]);
        check(&[(0, 64), (1, 1)], &[0]);
    }
}
