//! The pieces of answers that callers have not taken yet, of all connections of a listener together.
//!
//! A piece is as large as the object in it, and hundreds of callers that read nothing would have one each until they
//! are cut off at their deadline. So the sum has a bound. Above it, connections are cut off: first those of which the
//! caller has never taken anything that waited, then those of which it did so the longest time ago. A slow reader takes
//! something again and again. A piece counts as half of the bound at most, so that none cuts off all others.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Twenty of the largest objects that an API server takes.
pub(crate) const UNREAD_BYTES_MAX: usize = 32 << 20;

/// The unread pieces of a listener.
#[derive(Default)]
pub(super) struct Unread(Mutex<UnreadPieces>);

#[derive(Default)]
struct UnreadPieces {
    bytes: usize,
    /// The number of the newest rank.
    last: u64,
    by_rank: BTreeMap<UnreadRank, UnreadPiece>,
}

/// Whether the caller has ever taken something that waited, and when the piece or the last such part came. The lowest is
/// cut off first.
type UnreadRank = (bool, u64);

struct UnreadPiece {
    bytes: usize,
    /// Ends the piece's connection.
    cut_off: CancellationToken,
}

/// The piece of one connection, which its caller has yet to take.
pub(super) struct ConnectionPiece {
    of: Arc<Unread>,
    cut_off: CancellationToken,
    waiting: Mutex<WaitingPiece>,
}

#[derive(Default)]
struct WaitingPiece {
    rank: Option<UnreadRank>,
    has_taken: bool,
}

impl ConnectionPiece {
    /// No piece yet. `cut_off` ends the connection.
    pub(super) fn new(of: Arc<Unread>, cut_off: CancellationToken) -> Self {
        Self { of, cut_off, waiting: Mutex::default() }
    }

    /// The caller has another piece to take, in place of the one before. Other connections are cut off while there are
    /// too many bytes.
    pub(super) fn waits(&self, bytes: usize) {
        let mut waiting = self.waiting.lock();
        let mut pieces = self.of.0.lock();
        pieces.remove(waiting.rank.take());
        let bytes = bytes.min(UNREAD_BYTES_MAX / 2);
        pieces.make_room(UNREAD_BYTES_MAX - bytes);
        let piece = UnreadPiece { bytes, cut_off: self.cut_off.clone() };
        waiting.rank = Some(pieces.add(waiting.has_taken, piece));
    }

    /// The piece is taken, or its answer has ended.
    pub(super) fn is_taken(&self) {
        let mut waiting = self.waiting.lock();
        self.of.0.lock().remove(waiting.rank.take());
    }

    /// The caller has taken a part that waited.
    pub(super) fn moves(&self) {
        let mut waiting = self.waiting.lock();
        waiting.has_taken = true;
        let mut pieces = self.of.0.lock();
        let moved = pieces.remove(waiting.rank.take());
        waiting.rank = moved.map(|piece| pieces.add(true, piece));
    }

    pub(super) fn has_piece(&self) -> bool {
        self.waiting.lock().rank.is_some()
    }
}

impl Drop for ConnectionPiece {
    fn drop(&mut self) {
        self.is_taken();
    }
}

impl UnreadPieces {
    fn add(&mut self, has_taken: bool, piece: UnreadPiece) -> UnreadRank {
        self.last += 1;
        self.bytes += piece.bytes;
        let rank = (has_taken, self.last);
        self.by_rank.insert(rank, piece);
        rank
    }

    /// None, if the connection was cut off meanwhile.
    fn remove(&mut self, rank: Option<UnreadRank>) -> Option<UnreadPiece> {
        let piece = self.by_rank.remove(&rank?)?;
        self.bytes -= piece.bytes;
        Some(piece)
    }

    fn make_room(&mut self, bytes_max: usize) {
        while self.bytes > bytes_max
            && let Some((_, first)) = self.by_rank.pop_first()
        {
            self.bytes -= first.bytes;
            first.cut_off.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Step {
        /// A piece of so many MiB.
        Waits(usize, usize),
        Moves(usize),
        Taken(usize),
    }
    use Step::{Moves, Taken, Waits};

    /// Checks the connections that are cut off at the end.
    #[track_caller]
    fn check(steps: &[Step], expect: &[usize]) {
        let unread = Arc::<Unread>::default();
        let cut_offs: Vec<_> = (0..6).map(|_| CancellationToken::new()).collect();
        let new =
            |cut_off: &CancellationToken| ConnectionPiece::new(unread.clone(), cut_off.clone());
        let connections: Vec<_> = cut_offs.iter().map(new).collect();
        for step in steps {
            match *step {
                Waits(connection, mebibytes) => connections[connection].waits(mebibytes << 20),
                Moves(connection) => connections[connection].moves(),
                Taken(connection) => connections[connection].is_taken(),
            }
        }
        let cut = (0..6).filter(|number| cut_offs[*number].is_cancelled());
        assert_eq!(cut.collect::<Vec<_>>(), expect);
        drop(connections);
        let left = unread.0.lock();
        assert_eq!((left.bytes, left.by_rank.len()), (0, 0));
    }

    #[test]
    fn the_connection_that_reads_nothing_for_longest_is_cut_off_first() {
        check(&[Waits(0, 16), Waits(1, 16)], &[]);
        check(&[Waits(0, 16), Waits(1, 16), Waits(2, 1)], &[0]);
        check(&[Waits(0, 16), Waits(1, 16), Waits(0, 16), Waits(2, 1)], &[1]);
        check(&[Waits(0, 16), Waits(1, 16), Taken(0), Waits(2, 16)], &[]);
        check(&[Waits(0, 8), Waits(1, 8), Waits(2, 8), Waits(3, 8), Waits(4, 16)], &[0, 1]);
    }

    #[test]
    fn a_slow_reader_is_not_cut_off_before_those_that_read_nothing() {
        check(&[Waits(0, 16), Moves(0), Waits(1, 16), Waits(2, 1)], &[1]);
        // Callers that come and go beside it, each with a newer piece.
        let come_and_go =
            [Waits(0, 8), Moves(0), Waits(0, 8), Waits(1, 16), Waits(2, 16), Waits(3, 16)];
        check(&come_and_go, &[1, 2]);
        // Of two that have read, the one that read last stays.
        check(&[Waits(0, 16), Moves(0), Waits(1, 16), Moves(1), Moves(0), Waits(2, 1)], &[1]);
    }

    #[test]
    fn a_piece_above_the_bound_does_not_cut_off_all_others() {
        check(&[Waits(0, 64)], &[]);
        check(&[Waits(0, 1), Waits(1, 64), Waits(2, 1)], &[]);
        check(&[Waits(0, 64), Waits(1, 64)], &[]);
        check(&[Waits(0, 64), Waits(1, 64), Waits(2, 1)], &[0]);
    }

    #[test]
    fn what_was_cut_off_takes_no_place_again() {
        check(&[Waits(0, 16), Waits(1, 16), Waits(2, 1), Moves(0), Taken(0)], &[0]);
    }
}
