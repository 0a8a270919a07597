// Converts between UTF-16, which texts have in the language, and UTF-8, which they have in the host.

/** The number of bytes of a text as UTF-8. Half a character has the length of the U+FFFD that replaces it. */
export function lengthOf(text: string): i32 {
  return String.UTF8.byteLength(text);
}

/** Writes the text at this address. */
export function encodeInto(text: string, at: usize): void {
  String.UTF8.encodeUnsafe(changetype<usize>(text), text.length, at, false, String.UTF8.ErrorMode.REPLACE);
}

/** The number of bytes of the character at this address, before the end; 0 if the character is invalid. */
function characterLength(at: usize, end: usize): usize {
  const first = load<u8>(at);
  if (first < 0x80) return 1;
  const length: usize = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > end) return 0;
  for (let i: usize = 1; i < length; i++) {
    if ((load<u8>(at + i) & 0xc0) != 0x80) return 0;
  }
  // Too long an encoding, half a character, or beyond the last character.
  const second = load<u8>(at, 1);
  if (first == 0xe0 && second < 0xa0) return 0;
  if (first == 0xed && second > 0x9f) return 0;
  if (first == 0xf0 && second < 0x90) return 0;
  if (first == 0xf4 && second > 0x8f) return 0;
  return length;
}

/** The address of the first invalid byte, or the end. */
export function validUntil(from: usize, end: usize): usize {
  let at = from;
  while (at < end) {
    // Eight bytes at once, because most bytes are ASCII.
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

/** Decodes bytes. Each invalid byte becomes U+FFFD. */
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

/** Texts and their bytes, for values that the contract has as bytes: state, bodies, snapshots. */
export namespace utf8 {
  /** Encodes a text. Half a character becomes U+FFFD. */
  export function encode(text: string): Uint8Array {
    const bytes = new Uint8Array(lengthOf(text));
    encodeInto(text, bytes.dataStart);
    return bytes;
  }

  /** Decodes bytes. Each invalid byte becomes U+FFFD. */
  export function decode(bytes: Uint8Array): string {
    return decodeAt(bytes.dataStart, bytes.length);
  }
}
