//! Whether an arriving object is newer than the stored one. client-go's store takes every object.

use crate::object::{Object, compare_resource_versions};
use std::cmp::Ordering;

/// The source of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// A list shows it.
    Listed {
        /// Whether the list is a consistent read: then it is right even if its resourceVersion is lower or equal.
        consistent: bool,
    },
    /// A watch reports it.
    Watched,
}

pub(super) enum Verdict {
    Newer,
    /// The same version, of which only the metadata were known.
    Completed,
    Unchanged,
    Stale,
}

/// Whether `new` replaces `old`. Only a consistent list may overwrite a newer resourceVersion with an older one: after
/// a server was set back, it gives the same numbers to other bytes. Invariant 5.
pub(super) fn judge(old: &Object, new: &Object, write: Write) -> Verdict {
    let order = compare_resource_versions(new.resource_version(), old.resource_version());
    let set_back = write == Write::Listed { consistent: true };
    let known = !new.resource_version().is_empty();
    let is_one = order == Some(Ordering::Equal) && old.has_uid_of(new);
    if is_one && (old.is_metadata_only() || new.is_metadata_only()) {
        let is_same = (known && !set_back) || old.same_metadata(new);
        return match (is_same, new.is_metadata_only()) {
            (false, _) => Verdict::Newer,
            (true, false) => Verdict::Completed,
            (true, true) => Verdict::Unchanged,
        };
    }
    match order {
        Some(Ordering::Less) if known && !set_back => Verdict::Stale,
        Some(Ordering::Equal) if known && !set_back && old.has_uid_of(new) => Verdict::Unchanged,
        Some(Ordering::Equal) if old.has_uid_of(new) && old.same_json(new) => Verdict::Unchanged,
        _ => Verdict::Newer,
    }
}
