// The plugin's log, also as `console`.

/** Logs the values as one line. If the last of several values is a plain object, it contains the fields. */
export type LogFunction = (...values: unknown[]) => void;

/** `log.info("pod added", { pod: event.key })` */
export const log: {
  readonly trace: LogFunction;
  readonly debug: LogFunction;
  readonly info: LogFunction;
  readonly warn: LogFunction;
  readonly error: LogFunction;
};

// Of other runtimes' functions a plugin has `console`. The declaration agrees with theirs.
declare global {
  interface Console {
    trace(...values: unknown[]): void;
    debug(...values: unknown[]): void;
    info(...values: unknown[]): void;
    log(...values: unknown[]): void;
    warn(...values: unknown[]): void;
    error(...values: unknown[]): void;
  }
  var console: Console;
}
