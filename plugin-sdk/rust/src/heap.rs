//! The heap of a plugin.
//!
//! Copies of a plugin share the pages of its memory that were never written. So the heap begins directly behind the
//! program's data, and grows in small steps by what an allocation needs. The standard library's allocator begins at the
//! next 64 KiB and writes a mark at their end, in a page that nothing else uses.

use core::alloc::Layout;
use core::arch::wasm32::{memory_grow, memory_size};
use core::ptr::{NonNull, with_exposed_provenance_mut};
use talc::base::Talc;
use talc::base::binning::Binning;
use talc::cell::TalcSyncCell;
use talc::source::Source;
use talc::wasm::WasmBinning;

/// The heap ends at a multiple of this: the page of a host's memory.
const STEP: usize = 4 << 10;
/// Bytes of a page of WebAssembly.
const PAGE: usize = 64 << 10;
/// More than the allocator takes of a new heap, and of each allocation.
const OVERHEAD: usize = 1 << 10;
const _: () = assert!(OVERHEAD > 2 * talc::min_first_heap_size::<WasmBinning>());

#[global_allocator]
static HEAP: TalcSyncCell<LinearMemory, WasmBinning> =
    TalcSyncCell::new_wasm(LinearMemory { end: None, limit: 0 });

/// The memory from which the allocator takes its heap.
#[derive(Debug, Clone, Copy)]
struct LinearMemory {
    /// The end of the heap; none before the first allocation.
    end: Option<NonNull<u8>>,
    /// The address up to which the memory behind the heap belongs to nobody else.
    limit: usize,
}

#[expect(unsafe_code, reason = "symbols of the linker")]
unsafe extern "C" {
    /// The end of the program's data.
    safe static __heap_base: u8;
    /// The end of the memory with which the program begins.
    safe static __heap_end: u8;
}

// SAFETY: nothing here allocates. The memory between the two symbols belongs to the heap alone, and so does all memory by
// which this source grows it. No allocation of Rust's is there. The source notices memory by which another caller has
// grown it, and leaves that out.
#[expect(unsafe_code, reason = "an allocator's memory is raw")]
unsafe impl Source for LinearMemory {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        let bytes = layout.size().checked_add(layout.align() + OVERHEAD).ok_or(())?;
        let end_from = |begin: usize| begin.checked_add(bytes)?.checked_next_multiple_of(STEP);
        let Self { mut end, mut limit } = talc.source;
        let base = &raw const __heap_base;
        let mut begin =
            end.map_or(base.expose_provenance(), |end| end.as_ptr().expose_provenance());
        if end.is_none() {
            limit = (&raw const __heap_end).addr();
        }
        let mut to = end_from(begin).ok_or(())?;
        if to > limit {
            let present = memory_size::<0>().checked_mul(PAGE).ok_or(())?;
            if present != limit {
                // The heap goes on behind the memory of another caller. What is left in front of that stays unused: less
                // than a page.
                (begin, end, limit) = (present, None, present);
                to = end_from(begin).ok_or(())?;
            }
            let pages = (to - limit).div_ceil(PAGE);
            if memory_grow::<0>(pages) == usize::MAX {
                return Err(());
            }
            limit = limit.saturating_add(pages.saturating_mul(PAGE));
        }
        // SAFETY: `begin` up to `to` is memory of this source that the heap has not yet.
        let end = match end {
            Some(end) => Some(unsafe { talc.extend(end, with_exposed_provenance_mut(to)) }),
            None => unsafe { talc.claim(with_exposed_provenance_mut(begin), to - begin) },
        };
        talc.source = Self { end: Some(end.ok_or(())?), limit };
        Ok(())
    }
}
