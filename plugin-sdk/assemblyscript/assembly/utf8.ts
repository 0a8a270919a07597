// Texts are UTF-16 here, and UTF-8 in the host: they change at this edge.

/** How many bytes a text has as UTF-8. Half a character, which is none, is as long as the U+FFFD that takes its place. */
export function lengthOf(text: string): i32 {
  return String.UTF8.byteLength(text);
}

/** Writes it there. */
export function encodeInto(text: string, at: usize): void {
  String.UTF8.encodeUnsafe(changetype<usize>(text), text.length, at, false, String.UTF8.ErrorMode.REPLACE);
}

/** How many bytes the character at this place has, up to the end; 0 if it is none. */
function characterLength(at: usize, end: usize): usize {
  const first = load<u8>(at);
  if (first < 0x80) return 1;
  const length: usize = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > end) return 0;
  for (let i: usize = 1; i < length; i++) {
    if ((load<u8>(at + i) & 0xc0) != 0x80) return 0;
  }
  // Written longer than need be, half a character, and beyond the last one.
  const second = load<u8>(at, 1);
  if (first == 0xe0 && second < 0xa0) return 0;
  if (first == 0xed && second > 0x9f) return 0;
  if (first == 0xf0 && second < 0x90) return 0;
  if (first == 0xf4 && second > 0x8f) return 0;
  return length;
}

/** The place of the first byte that is no UTF-8; the end if there is none. */
export function validUntil(from: usize, end: usize): usize {
  let at = from;
  while (at < end) {
    // Eight at once, as nearly everything is.
    if (at + 8 <= end && (load<u64>(at) & 0x8080808080808080) == 0) {
      at += 8;
      continue;
    }
    const length = characterLength(at, end);
    if (length == 0) return at;
    at += length;
  }
  return end;
}

/** Bytes as a text; each that is no UTF-8 is U+FFFD. */
export function decodeAt(from: usize, length: usize): string {
  const end = from + length;
  let valid = validUntil(from, end);
  if (valid == end) return String.UTF8.decodeUnsafe(from, length);
  const parts: string[] = [];
  let at = from;
  while (valid < end) {
    parts.push(String.UTF8.decodeUnsafe(at, valid - at));
    at = valid + 1;
    valid = validUntil(at, end);
    parts.push("\uFFFD");
  }
  parts.push(String.UTF8.decodeUnsafe(at, end - at));
  return parts.join("");
}

/** Texts and their bytes, for what the contract has as bytes: state, bodies, snapshots. */
export namespace utf8 {
  /** A text as bytes. Half a character becomes U+FFFD. */
  export function encode(text: string): Uint8Array {
    const bytes = new Uint8Array(lengthOf(text));
    encodeInto(text, bytes.dataStart);
    return bytes;
  }

  /** Bytes as a text. Each byte that is no UTF-8 becomes U+FFFD. */
  export function decode(bytes: Uint8Array): string {
    return decodeAt(bytes.dataStart, bytes.length);
  }
}
