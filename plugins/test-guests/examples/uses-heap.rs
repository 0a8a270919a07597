//! Allocates, grows, shrinks and frees memory at random before it runs, and takes memory beside its heap meanwhile.
//!
//! It runs if all bytes are as they were written.

#![cfg(target_family = "wasm")]

use informant_plugin::prelude::*;

const STEPS: u32 = 2_000;
/// Allocations that are kept at once, about.
const KEPT: usize = 40;
/// A byte of memory that belongs to another than the heap. No block has it.
const FOREIGN: u8 = 0xEE;
/// Bytes of a page of WebAssembly.
const PAGE: usize = 64 << 10;
/// More than the heap has free at any time.
const LARGE: usize = 4 << 20;

/// Bytes at an address of this alignment, all of them alike.
struct Block {
    bytes: Vec<u8>,
    line: Box<Line>,
}

#[repr(align(256))]
struct Line([u8; 256]);

impl Block {
    fn new(len: usize, byte: u8) -> Self {
        Self { bytes: vec![byte; len], line: Box::new(Line([byte; 256])) }
    }

    fn byte(&self) -> u8 {
        self.line.0[0]
    }

    fn check(&self) -> Result {
        let is_aligned = (&raw const *self.line).addr().is_multiple_of(align_of::<Line>());
        let are_alike = self.bytes.iter().chain(&self.line.0).all(|byte| *byte == self.byte());
        if is_aligned && are_alike {
            return Ok(());
        }
        Err(Failure::new(format!(
            "{} bytes of {} are not as written",
            self.bytes.len(),
            self.byte()
        )))
    }
}

/// Takes a page of WebAssembly without the allocator, as a library of another language does.
#[expect(unsafe_code, reason = "memory that belongs to nobody else")]
fn foreign_page() -> &'static mut [u8] {
    let before = core::arch::wasm32::memory_grow::<0>(1);
    assert_ne!(before, usize::MAX, "there is a page");
    // SAFETY: the page is new, and nobody else knows it.
    let bytes = unsafe { core::slice::from_raw_parts_mut((before * PAGE) as *mut u8, PAGE) };
    bytes.fill(FOREIGN);
    bytes
}

/// The plugin.
pub struct UsesHeap;

impl Plugin for UsesHeap {
    fn describe(_: &Config) -> Result<Descriptor> {
        Ok(test_guests::pods())
    }

    fn start(_: &Config) -> Result<Self> {
        let mut random = 1_u32;
        let mut below = |end: usize| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as usize % end
        };
        let (mut kept, mut larges, mut foreign) = (Vec::new(), Vec::new(), Vec::new());
        for step in 0..STEPS {
            let len = 1 << below(18);
            match below(4) {
                0 | 1 if kept.len() < KEPT => kept.push(Block::new(len, (step % 200) as u8)),
                2 if !kept.is_empty() => {
                    let at = below(kept.len());
                    let (block, len) = (&mut kept[at], below(2 * len));
                    let byte = block.byte();
                    block.bytes.resize(len, byte);
                    block.bytes.shrink_to_fit();
                }
                _ if !kept.is_empty() => {
                    let at = below(kept.len());
                    kept.swap_remove(at).check()?;
                }
                _ => {}
            }
            if step % (STEPS / 4) == STEPS / 8 {
                let page = foreign_page();
                let large = Block::new(LARGE, 1);
                if large.bytes.as_ptr().addr() < page.as_ptr().addr() {
                    return Err(Failure::new("the heap did not grow behind the page"));
                }
                foreign.push(page);
                larges.push(large);
            }
        }
        kept.iter().chain(&larges).try_for_each(Block::check)?;
        if foreign.iter().any(|page| page.iter().any(|byte| *byte != FOREIGN)) {
            return Err(Failure::new("the heap wrote to memory of another"));
        }
        Ok(Self)
    }

    fn handle(&mut self, event: Event) -> Result {
        test_guests::behave(&event);
        Ok(())
    }
}

export_plugin!(UsesHeap);
