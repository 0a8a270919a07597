// The functions that the language expects from its environment. The build uses them instead of functions of `env`,
// which no host has. A used function makes the plugin import the first WASI, which the host provides.

import { log } from "./log";

@external("wasi_snapshot_preview1", "random_get")
declare function randomGet(at: usize, length: usize): u32;
@external("wasi_snapshot_preview1", "clock_time_get")
declare function clockTimeGet(clock: u32, precision: u64, into: usize): u32;

const PLACE: usize = memory.data(8, 8);
const WALL_CLOCK: u32 = 0;
const MONOTONIC_CLOCK: u32 = 1;
const NANOSECONDS: f64 = 1_000_000;

/**
 * Ends the instance after a throw, a failed assertion, or an access out of bounds. Logs the reason before the trap.
 */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  if (__stack_pointer < __data_end) {
    // The collector's stack is full, and in this case the compiler's message and place are empty. Its entries are no
    // longer needed, and the output needs some room on it.
    __stack_pointer = __heap_base;
    overrun();
  } else {
    report(changetype<usize>(message), changetype<usize>(file), line, column);
  }
  unreachable();
}

function overrun(): void {
  log.error("stack overflow: functions call each other too deep");
}

/** A separate function with room for objects: abort itself has none on that stack. */
function report(message: usize, file: usize, line: u32, column: u32): void {
  const words = message == 0 ? "aborted" : changetype<string>(message);
  const place = file == 0 ? "unknown" : changetype<string>(file);
  log.error(words, [["at", `${place}:${line}:${column}`]]);
}

/** The start value of Math.random. */
export function seed(): f64 {
  randomGet(PLACE, 8);
  return load<f64>(PLACE);
}

/** Logs a line for debugging, with up to five numbers. */
export function trace(message: string, count: i32 = 0, a: f64 = 0, b: f64 = 0, c: f64 = 0, d: f64 = 0, e: f64 = 0): void {
  const numbers: f64[] = [a, b, c, d, e];
  log.trace(message, count == 0 ? [] : [["values", numbers.slice(0, count).join(", ")]]);
}

/** The wall clock, in milliseconds. */
export function now(): f64 {
  clockTimeGet(WALL_CLOCK, 1, PLACE);
  return Math.floor(<f64>load<u64>(PLACE) / NANOSECONDS);
}

/** The instance's own clock, which only goes forward. */
export function elapsed(): f64 {
  clockTimeGet(MONOTONIC_CLOCK, 1, PLACE);
  return <f64>load<u64>(PLACE) / NANOSECONDS;
}

/** Random bytes. */
export function random(bytes: Uint8Array): void {
  randomGet(bytes.dataStart, bytes.length);
}
