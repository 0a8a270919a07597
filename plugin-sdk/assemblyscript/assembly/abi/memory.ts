// Memory for values that pass between the host and the plugin: blocks that the collector does not manage, and that are
// freed together. The collector can run whenever an object is created, and must not run while the host requests
// memory. A block is not an object.

// Blocks are a list, newest first; each header points to the previous block. A header has 16 bytes, so that its block
// is aligned as the heap is.
const HEADER: usize = 16;
let newest: usize = 0;

/** Allocates a block, which lives until release. A block without bytes also has an address. */
export function grab(size: usize): usize {
  const block = heap.alloc(HEADER + size);
  store<usize>(block, newest);
  newest = block;
  return block + HEADER;
}

/** Marks the present blocks: release frees the later ones. */
export function mark(): usize {
  return newest;
}

/** Frees every block after the mark. */
export function release(until: usize): void {
  while (newest != until) {
    const block = newest;
    newest = load<usize>(block);
    heap.free(block);
  }
}

/** The host requests memory with this function, also of size 0. */
export function cabi_realloc(old: usize, oldSize: usize, align: usize, size: usize): usize {
  if (size == 0) return align;
  const place = grab(size);
  if (oldSize > 0) memory.copy(place, old, min(oldSize, size));
  return place;
}

/**
 * The adapter of the first WASI requests memory with this function and keeps it forever. These blocks are in no list.
 */
export function cabi_realloc_adapter(old: usize, oldSize: usize, align: usize, size: usize): usize {
  if (size == 0) return align;
  const place = heap.alloc(size);
  if (oldSize > 0) memory.copy(place, old, min(oldSize, size));
  return place;
}

/** The memory for the answer of an import. The largest answer, kube's, has 56 bytes. */
export const AREA: usize = memory.data(64, 8);

/** The memory for the answer of an export. The largest answer, a failure, has 32 bytes. */
export const ANSWER: usize = memory.data(32, 8);
