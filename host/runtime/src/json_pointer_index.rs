//! Indexes that plugins declare. Plugins that ask for the same pointer share one.

use crate::descriptor::IndexSpec;
use informant_cache::{IndexFunc, Indexer};

/// Makes sure that the index of this pointer exists and returns its name in the shared indexer.
pub(crate) fn declare(indexer: &Indexer, index: &IndexSpec) -> String {
    let name = format!("pointer:{}", index.pointer_text);
    // It exists already if another plugin asked for it first, which is as good.
    let _ = indexer.add_index(&name, IndexFunc::json_pointer(index.pointer.clone()));
    name
}
