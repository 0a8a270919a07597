// Reads values that the host wrote, by their addresses. The results are copies, so the block may be freed afterwards.

/** A text with this address and number of bytes. It is valid UTF-8: the host checks that. */
export function textAt(at: usize, length: usize): string {
  return String.UTF8.decodeUnsafe(at, length);
}

/** This number of bytes from this address. */
export function bytesAt(at: usize, length: usize): Uint8Array {
  const copy = new Uint8Array(<i32>length);
  memory.copy(copy.dataStart, at, length);
  return copy;
}

/** A text: its address and its length. */
export function text(at: usize): string {
  return textAt(load<usize>(at), load<usize>(at, 4));
}

/** A list of bytes. */
export function bytes(at: usize): Uint8Array {
  return bytesAt(load<usize>(at), load<usize>(at, 4));
}

/** An optional text: a byte for its presence, and the text. */
export function optionalText(at: usize): string | null {
  return load<u8>(at) == 0 ? null : text(at + 4);
}

/** An optional list of bytes. */
export function optionalBytes(at: usize): Uint8Array | null {
  return load<u8>(at) == 0 ? null : bytes(at + 4);
}

/** A list of texts. */
export function texts(at: usize): string[] {
  const from = load<usize>(at);
  const count = load<i32>(at, 4);
  const all = new Array<string>(count);
  for (let i = 0; i < count; i++) all[i] = text(from + 8 * i);
  return all;
}

/** A list of tuples of two texts. */
export function pairs(at: usize): string[][] {
  const from = load<usize>(at);
  const count = load<i32>(at, 4);
  const all = new Array<string[]>(count);
  for (let i = 0; i < count; i++) all[i] = [text(from + 16 * i), text(from + 16 * i + 8)];
  return all;
}
