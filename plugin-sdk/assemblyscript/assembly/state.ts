// A small store for the plugin, which outlives reloads. handle, reconcile and fire may write it. The writes of a
// failed call are dropped.

import { AREA, mark, release } from "./abi/memory";
import { optionalBytes as optionalBytesAt, text as textAt, texts as textsAt } from "./abi/read";
import { optionalBytes, text } from "./abi/write";
import { Problem, Result } from "./problem";
import { utf8 } from "./utf8";

@external("informant:plugin/state@0.1.0", "get")
declare function hostGet(key: usize, length: usize, into: usize): void;
@external("informant:plugin/state@0.1.0", "set")
declare function hostSet(key: usize, length: usize, is: u32, value: usize, valueLength: usize, into: usize): void;
@external("informant:plugin/state@0.1.0", "compare-and-set")
declare function hostCompareAndSet(
  key: usize, length: usize, isExpected: u32, expected: usize, expectedLength: usize, is: u32, value: usize, valueLength: usize, into: usize,
): void;
@external("informant:plugin/state@0.1.0", "keys")
declare function hostKeys(prefix: usize, length: usize, into: usize): void;

function refused(): Problem | null {
  return load<u8>(AREA) == 0 ? null : new Problem("state", "refused", textAt(AREA + 4));
}

/** A small store. Keys have 1 to 512 bytes. It has up to 1,000 keys, and 1 MiB of keys and values. */
export namespace state {
  /** The value of the key. Null if there is none. */
  export function get(key: string): Result<Uint8Array | null> {
    const before = mark();
    const name = text(key);
    hostGet(name.at, name.length, AREA);
    const problem = refused();
    const value = problem === null ? optionalBytesAt(AREA + 4) : null;
    release(before);
    return problem === null ? Result.of<Uint8Array | null>(value) : Result.refused<Uint8Array | null>(problem);
  }

  /** The same as a text. */
  export function getText(key: string): Result<string | null> {
    const found = get(key);
    const problem = found.problem;
    if (problem !== null) return Result.refused<string | null>(problem);
    const bytes = found.value;
    return Result.of<string | null>(bytes === null ? null : utf8.decode(bytes));
  }

  /** Sets the value of the key. Null removes it. */
  export function set(key: string, value: Uint8Array | null): Problem | null {
    const before = mark();
    const name = text(key);
    const bytes = optionalBytes(value);
    hostSet(name.at, name.length, value !== null, bytes.at, bytes.length, AREA);
    const problem = refused();
    release(before);
    return problem;
  }

  /** The same for a text. */
  export function setText(key: string, value: string | null): Problem | null {
    return set(key, value === null ? null : utf8.encode(value));
  }

  /** Sets the value if the present one is as expected, where null means no value. Returns whether it was. */
  export function compareAndSet(key: string, expected: Uint8Array | null, value: Uint8Array | null): Result<bool> {
    const before = mark();
    const name = text(key);
    const was = optionalBytes(expected);
    const next = optionalBytes(value);
    hostCompareAndSet(name.at, name.length, expected !== null, was.at, was.length, value !== null, next.at, next.length, AREA);
    const problem = refused();
    const swapped = load<u8>(AREA, 4) != 0;
    release(before);
    return problem === null ? Result.of<bool>(swapped) : Result.refused<bool>(problem);
  }

  /** The keys with this prefix, sorted. */
  export function keys(prefix: string = ""): Result<string[]> {
    const before = mark();
    const begin = text(prefix);
    hostKeys(begin.at, begin.length, AREA);
    const problem = refused();
    const found: string[] = problem === null ? textsAt(AREA + 4) : [];
    release(before);
    return problem === null ? Result.of<string[]>(found) : Result.refused<string[]>(problem);
  }
}
