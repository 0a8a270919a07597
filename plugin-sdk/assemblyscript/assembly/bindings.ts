// Replaces a browser's bindings for the standard library's Date, console, performance and crypto: the build gives this
// file to the compiler.

import { elapsed, now as wallClock, random } from "informant-plugin-assemblyscript/assembly/environment";
import { log as hostLog } from "informant-plugin-assemblyscript/assembly/log";

// The standard library names it, but its own mathematics need no bindings.
export declare namespace Math {}

export namespace Date {
  export function now(): f64 {
    return wallClock();
  }
}

export namespace performance {
  export function now(): f64 {
    return elapsed();
  }
}

export namespace crypto {
  export function getRandomValues(array: Uint8Array): void {
    random(array);
  }
}

export namespace console {
  export function assert(condition: bool, message: string): void {
    if (!condition) hostLog.error(`assertion failed: ${message}`);
  }
  export function log(text: string): void {
    hostLog.info(text);
  }
  export function debug(text: string): void {
    hostLog.debug(text);
  }
  export function info(text: string): void {
    hostLog.info(text);
  }
  export function warn(text: string): void {
    hostLog.warn(text);
  }
  export function error(text: string): void {
    hostLog.error(text);
  }
}
