//! Whether what arrives is newer than what is stored. client-go's store takes whatever comes.

use crate::object::{Object, compare_resource_versions};
use std::cmp::Ordering;

/// Why an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// A list shows it.
    Listed {
        /// The list is a consistent read: it is right even where its resourceVersion is lower or equal.
        consistent: bool,
    },
    /// A watch reports it.
    Watched,
}

pub(super) enum Verdict {
    Newer,
    Unchanged,
    Stale,
}

/// Whether `new` replaces `old`. An older resourceVersion never overwrites a newer one, but for a consistent
/// list: after the server was set back, its numbers are handed out again and mean other bytes. Invariant 5.
pub(super) fn judge(old: &Object, new: &Object, write: Write) -> Verdict {
    let order = compare_resource_versions(new.resource_version(), old.resource_version());
    let set_back = write == Write::Listed { consistent: true };
    let known = !new.resource_version().is_empty();
    match order {
        Some(Ordering::Less) if known && !set_back => Verdict::Stale,
        Some(Ordering::Equal) if known && !set_back && old.uid() == new.uid() => Verdict::Unchanged,
        Some(Ordering::Equal) if old.uid() == new.uid() && old.same_json(new) => Verdict::Unchanged,
        _ => Verdict::Newer,
    }
}
