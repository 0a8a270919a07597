// Values for the host: arguments of imports and answers of exports, in blocks that live until they are released. An
// argument is an address and a length.

import { encodeInto, lengthOf } from "../utf8";
import { ANSWER, grab } from "./memory";

/** The address and the length of a value, in the host's format. */
@unmanaged
export class Slice {
  at: usize;
  length: usize;
}

function slice(at: usize, length: usize): Slice {
  const made = changetype<Slice>(grab(offsetof<Slice>()));
  made.at = at;
  made.length = length;
  return made;
}

/** A text. */
export function text(value: string): Slice {
  const length = lengthOf(value);
  const at = grab(length);
  encodeInto(value, at);
  return slice(at, length);
}

/** A list of bytes. */
export function bytes(value: Uint8Array): Slice {
  const at = grab(value.length);
  memory.copy(at, value.dataStart, value.length);
  return slice(at, value.length);
}

/** A list of texts: an address and a length for each. */
export function texts(values: string[]): Slice {
  const at = grab(8 * values.length);
  for (let i = 0; i < values.length; i++) put(at + 8 * i, text(values[i]));
  return slice(at, values.length);
}

/** A list of names with values. `what` names them in an error. */
export function pairs(values: string[][], what: string): Slice {
  const at = grab(16 * values.length);
  for (let i = 0; i < values.length; i++) {
    if (values[i].length != 2) {
      throw new Error(`${what} are pairs, [["name", "value"]]: number ${i} has ${values[i].length} texts; give each a name and a value`);
    }
    put(at + 16 * i, text(values[i][0]));
    put(at + 16 * i + 8, text(values[i][1]));
  }
  return slice(at, values.length);
}

/** The part of an optional text after the byte for its presence. */
export function optionalText(value: string | null): Slice {
  return value === null ? slice(0, 0) : text(value);
}

/** The part of an optional list of bytes after the byte for its presence. */
export function optionalBytes(value: Uint8Array | null): Slice {
  return value === null ? slice(0, 0) : bytes(value);
}

/** Writes a slice into a record. */
export function put(place: usize, value: Slice): void {
  store<usize>(place, value.at);
  store<usize>(place, value.length, 4);
}

/** An answer of an export without a value, or the first part of one with a value. */
export function answer(isError: bool): usize {
  memory.fill(ANSWER, 0, 32);
  store<u8>(ANSWER, isError);
  return ANSWER;
}
