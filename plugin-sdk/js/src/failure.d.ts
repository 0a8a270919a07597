// Thrown values, and the failures that they become.

/** The event becomes a dead letter at once, because a retry would fail again: `throw never(error)`. */
export function never(reason: unknown): Error;

/** The event comes again after this number of milliseconds, instead of the rate limiter's wait: `throw after(error, ms)`. */
export function after(reason: unknown, ms: number): Error;

/** The API server's `Status`. */
export interface StatusError {
  /** The HTTP status. 409: another writer was faster. */
  code: number;
  /** `Conflict`, `AlreadyExists`, `NotFound`, `Invalid` or another word of the API server. */
  reason: string;
  message: string;
  /** With 429 and 503, the wait before the next try. A function that throws the error is called again after this time. */
  retryAfterMs?: bigint | null;
}

interface Refusal<Kind extends string, Detail> extends Error {
  readonly name: "HostError";
  /** The contract's word for the reason. */
  readonly kind: Kind;
  readonly detail: Detail;
}

/**
 * An error of a host function. `kind` is a word of the contract, such as `not-granted`. It decides the type of `detail`:
 * the API server's answer with `status`, and a text for people with most others. `refused` is for functions whose
 * refusals have no words in the contract.
 */
export type HostError =
  | Refusal<"status", StatusError>
  | Refusal<"not-leader" | "expired", null>
  | Refusal<"not-granted" | "invalid" | "unknown-resource" | "unknown-index" | "not-synced" | "transport" | "timed-out" | "too-large", string>
  | Refusal<"refused", string | null>;

export const HostError: {
  new (what: string, refused: unknown): HostError;
  readonly prototype: HostError;
};

/** The time of the next attempt after a failure. */
export type Retry = { tag: "backoff" } | { tag: "after-ms"; val: number } | { tag: "never" };

/** The contract's failure, as tests see it. */
export interface Failure {
  message: string;
  retry: Retry;
}
