// Thrown values, and the failures that they become.

// A symbol, because errors of others may have a `retry` with another meaning.
const RETRY = Symbol("when its event comes again");

/** The error with a retry. */
function asking(reason, retry) {
  const error = reason instanceof Error ? reason : new Error(String(reason));
  error[RETRY] = retry;
  return error;
}

/** Whether the error has a retry. Such an error is an intended result, not an accident. */
export const isAsking = (reason) => reason?.[RETRY] !== undefined;

/** The event becomes a dead letter at once, because a retry would fail again. */
export const never = (reason) => asking(reason, { tag: "never" });

/** Checks a number of milliseconds for the host. `who` is the name of the function in the error. */
export function milliseconds(who, ms) {
  const whole = Math.ceil(ms);
  if (Number.isNaN(whole)) throw new TypeError(`${who} wants milliseconds, and ${String(ms)} is none`);
  return Math.min(Math.max(0, whole), Number.MAX_SAFE_INTEGER);
}

/** The event comes again after this number of milliseconds, instead of the rate limiter's wait. */
export const after = (reason, ms) => asking(reason, { tag: "after-ms", val: milliseconds("after", ms) });

/** An error of a host function. `kind` is a word of the contract, such as `not-granted`; `detail` is its value. */
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

// A bound, because an error may be its own cause.
const CAUSES_MAX = 8;

/** The text of a thrown value and of its causes. */
export function text(reason, causes = CAUSES_MAX) {
  if (!(reason instanceof Error)) return typeof reason === "string" ? reason : (JSON.stringify(reason) ?? String(reason));
  const { name, message } = reason;
  const own = message === "" ? name : name === "Error" ? message : `${name}: ${message}`;
  return reason.cause == null || causes === 0 ? own : `${own}: ${text(reason.cause, causes - 1)}`;
}

/** The retry of a thrown value: its own one, or after the API server's time. */
function retryOf(reason) {
  if (isAsking(reason)) return reason[RETRY];
  const ms = reason instanceof HostError && reason.kind === "status" ? reason.detail?.retryAfterMs : null;
  return ms > 0 ? { tag: "after-ms", val: milliseconds("retryAfterMs", Number(ms)) } : { tag: "backoff" };
}

/** The contract's failure. */
export const failure = (reason) => ({ message: text(reason), retry: retryOf(reason) });
