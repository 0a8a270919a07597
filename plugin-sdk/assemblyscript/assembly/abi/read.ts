// Values that the host wrote, read by where they are. What is read is a copy: the block may be given back afterwards.

/** A text that begins there and has so many bytes. It is UTF-8: the host checks that. */
export function textAt(at: usize, length: usize): string {
  return String.UTF8.decodeUnsafe(at, length);
}

/** So many bytes from there. */
export function bytesAt(at: usize, length: usize): Uint8Array {
  const copy = new Uint8Array(<i32>length);
  memory.copy(copy.dataStart, at, length);
  return copy;
}

/** A text, as where it begins and how long it is. */
export function text(at: usize): string {
  return textAt(load<usize>(at), load<usize>(at, 4));
}

/** A list of bytes. */
export function bytes(at: usize): Uint8Array {
  return bytesAt(load<usize>(at), load<usize>(at, 4));
}

/** An option of a text: a byte that says whether there is one, and the text. */
export function optionalText(at: usize): string | null {
  return load<u8>(at) == 0 ? null : text(at + 4);
}

/** An option of a list of bytes. */
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
