// The reasons for failed reads.

import { text } from "../abi/read";
import { Problem } from "../problem";

const KINDS: StaticArray<string> = ["not-granted", "unknown-resource", "unknown-index", "not-synced", "expired", "invalid"];
const EXPIRED = 4;

/** The problem in an answer with its error at this offset. Null if there is none. */
export function refused(area: usize, offset: usize): Problem | null {
  if (load<u8>(area) == 0) return null;
  const number = load<u8>(area + offset);
  return new Problem("indexer", KINDS[number], number == EXPIRED ? "" : text(area + offset + 4));
}
