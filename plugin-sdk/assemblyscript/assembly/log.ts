// The host's log.

import { mark, release } from "./abi/memory";
import { pairs, text } from "./abi/write";

@external("informant:plugin/log@0.1.0", "enabled")
declare function isEnabled(level: u32): u32;
@external("informant:plugin/log@0.1.0", "log")
declare function write(level: u32, message: usize, messageLength: usize, fields: usize, fieldsLength: usize): void;

const enum Level {
  Trace,
  Debug,
  Info,
  Warn,
  Error,
}

function line(level: Level, message: string, fields: string[][]): void {
  if (!isEnabled(level)) return;
  const before = mark();
  const words = text(message);
  const named = pairs(fields, "fields of a log line");
  write(level, words.at, words.length, named.at, named.length);
  release(before);
}

/** Lines in the host's log, with fields as pairs: `log.info("pod", [["key", event.key.toString()]])`. */
export namespace log {
  export function trace(message: string, fields: string[][] = []): void {
    line(Level.Trace, message, fields);
  }
  export function debug(message: string, fields: string[][] = []): void {
    line(Level.Debug, message, fields);
  }
  export function info(message: string, fields: string[][] = []): void {
    line(Level.Info, message, fields);
  }
  export function warn(message: string, fields: string[][] = []): void {
    line(Level.Warn, message, fields);
  }
  export function error(message: string, fields: string[][] = []): void {
    line(Level.Error, message, fields);
  }
  /** Whether debug lines are written. Check it before you build an expensive line. */
  export function isDebugEnabled(): bool {
    return isEnabled(Level.Debug) != 0;
  }
  /** The same for trace lines. */
  export function isTraceEnabled(): bool {
    return isEnabled(Level.Trace) != 0;
  }
}
