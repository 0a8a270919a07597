// Bytes and text. The runtime may have no TextDecoder and no TextEncoder.

/** Decodes UTF-8. Invalid bytes become U+FFFD. */
export function decode(bytes) {
  if (typeof TextDecoder === "function") return new TextDecoder().decode(Uint8Array.from(bytes));
  return read(bytes);
}

// The number of bytes that become text at once. Each of them is an argument of a call.
const RUN_MAX = 4096;

/**
 * The same without the runtime's functions. Most bytes of JSON are characters by themselves; these are decoded in
 * runs.
 */
export function read(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; ) {
    const end = plainUntil(bytes, at);
    if (end > at) {
      parts.push(String.fromCharCode.apply(null, bytes.slice(at, end)));
      at = end;
    } else {
      const [point, length] = character(bytes, at);
      parts.push(String.fromCodePoint(point));
      at += length;
    }
  }
  return parts.join("");
}

/** The end of a run that begins here. */
function plainUntil(bytes, at) {
  const most = Math.min(bytes.length, at + RUN_MAX);
  let end = at;
  while (end < most && bytes[end] < 0x80) end++;
  return end;
}

/** The character at this position, and the number of its bytes. */
function character(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return [first, 1];
  const length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length === 0 || first >= 0xf5) return [0xfffd, 1];
  let point = first & (0xff >> (length + 1));
  for (let next = 1; next < length; next++) {
    const byte = bytes[at + next];
    if (byte === undefined || (byte & 0xc0) !== 0x80) return [0xfffd, next];
    point = (point << 6) | (byte & 0x3f);
  }
  const least = [0, 0, 0x80, 0x800, 0x10000][length];
  const isNone = point < least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000);
  return isNone ? [0xfffd, length] : [point, length];
}

/** Encodes as UTF-8. A lone half of a character becomes U+FFFD. */
export function encode(text) {
  if (typeof TextEncoder === "function") return new TextEncoder().encode(text);
  return write(text);
}

/** The same without the runtime's functions. */
export function write(text) {
  const bytes = [];
  for (const one of text) {
    let point = one.codePointAt(0);
    if (point >= 0xd800 && point < 0xe000) point = 0xfffd;
    if (point < 0x80) bytes.push(point);
    else if (point < 0x800) bytes.push(0xc0 | (point >> 6), 0x80 | (point & 0x3f));
    else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f));
    else {
      bytes.push(0xf0 | (point >> 18), 0x80 | ((point >> 12) & 0x3f), 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f));
    }
  }
  return new Uint8Array(bytes);
}
