// Memory that the host and the plugin hand to each other: blocks outside the collector's reach, which are given back together. The collector can run
// wherever an object is made, and never while the host asks for memory: a block is no object.

// Blocks are a list, newest first; a header has the one before. It is 16 bytes, so that what follows is aligned as the heap aligns.
const HEADER: usize = 16;
let newest: usize = 0;

/** A block until release. Of no bytes it is still one that can be pointed to. */
export function grab(size: usize): usize {
  const block = heap.alloc(HEADER + size);
  store<usize>(block, newest);
  newest = block;
  return block + HEADER;
}

/** What there is now: release gives back what came afterwards. */
export function mark(): usize {
  return newest;
}

/** Gives back every block that was grabbed after the mark. */
export function release(until: usize): void {
  while (newest != until) {
    const block = newest;
    newest = load<usize>(block);
    heap.free(block);
  }
}

/** The host asks for memory, also of size 0. */
export function cabi_realloc(old: usize, oldSize: usize, align: usize, size: usize): usize {
  if (size == 0) return align;
  const place = grab(size);
  if (oldSize > 0) memory.copy(place, old, min(oldSize, size));
  return place;
}

/** So does the adapter of the first WASI, which keeps what it has for ever: these blocks are in no list. */
export function cabi_realloc_adapter(old: usize, oldSize: usize, align: usize, size: usize): usize {
  if (size == 0) return align;
  const place = heap.alloc(size);
  if (oldSize > 0) memory.copy(place, old, min(oldSize, size));
  return place;
}

/** Where an import leaves its answer: the largest, kube's, has 56 bytes. */
export const AREA: usize = memory.data(64, 8);

/** Where an export leaves its answer: the largest, a failure, has 32 bytes. */
export const ANSWER: usize = memory.data(32, 8);
