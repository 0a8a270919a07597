// What is thrown, and what becomes of it.

// A name of our own: errors of others have a `retry` that means something else.
const RETRY = Symbol("when its event comes again");

/** The error with a wish for when its event comes again. */
function asking(reason, retry) {
  const error = reason instanceof Error ? reason : new Error(String(reason));
  error[RETRY] = retry;
  return error;
}

/** Whether somebody has said what is to become of it: then it is an answer, and not an accident. */
export const isAsking = (reason) => reason?.[RETRY] !== undefined;

/** Sends the event to the dead letters at once: trying again would not help. */
export const never = (reason) => asking(reason, { tag: "never" });

/** Milliseconds as the host takes them. `who` is told of what is no number of them. */
export function milliseconds(who, ms) {
  const whole = Math.ceil(ms);
  if (Number.isNaN(whole)) throw new TypeError(`${who} wants milliseconds, and ${String(ms)} is none`);
  return Math.min(Math.max(0, whole), Number.MAX_SAFE_INTEGER);
}

/** Has the event come again after so many milliseconds, and not as the rate limiter says. */
export const after = (reason, ms) => asking(reason, { tag: "after-ms", val: milliseconds("after", ms) });

/** What a host function refused: `kind` is a word of the contract, `not-granted`, and `detail` what came with it. */
export class HostError extends Error {
  constructor(what, refused) {
    const kind = refused?.tag ?? "refused";
    const detail = refused?.val ?? (typeof refused === "string" ? refused : null);
    const words = detail?.message ?? detail;
    super(words == null ? `${what}: ${kind}` : `${what}: ${kind}: ${words}`);
    this.name = "HostError";
    this.kind = kind;
    this.detail = detail;
  }
}

// A cause may be its own.
const CAUSES_MAX = 8;

/** Something thrown, in words, and what it was caused by. */
export function text(reason, causes = CAUSES_MAX) {
  if (!(reason instanceof Error)) return typeof reason === "string" ? reason : (JSON.stringify(reason) ?? String(reason));
  const { name, message } = reason;
  const own = message === "" ? name : name === "Error" ? message : `${name}: ${message}`;
  return reason.cause == null || causes === 0 ? own : `${own}: ${text(reason.cause, causes - 1)}`;
}

/** The contract's failure. */
export const failure = (reason) => ({ message: text(reason), retry: reason?.[RETRY] ?? { tag: "backoff" } });
