// A refusal, or a value that cannot be parsed. It is a result, because the language has no exceptions.

import { Failure } from "./failure";

/** The reason for an unsuccessful call. */
export class Problem {
  constructor(
    /** The source: an interface of the contract such as `kube`, or `json`. */
    public readonly what: string,
    /** A word of the contract such as `not-granted`; `refused` if the contract has none, and `malformed` for JSON. */
    public readonly kind: string,
    /** For people. It may be empty. */
    public readonly message: string = "",
    /** For kube's `status`: the API server's code, such as 409. */
    public readonly code: i32 = 0,
    /** For kube's `status`: the API server's reason, such as `Conflict`. */
    public readonly reason: string = "",
    /** For kube's `status`: milliseconds until the next try; -1 if the API server does not set them. */
    public readonly retryAfterMs: i64 = -1,
  ) {}

  /** The whole problem on one line. */
  toString(): string {
    const status = this.code == 0 ? "" : `: ${this.code} ${this.reason}`;
    return this.message == "" ? `${this.what}: ${this.kind}${status}` : `${this.what}: ${this.kind}${status}: ${this.message}`;
  }

  /**
   * The problem as a result of handle and other calls. The call comes again with growing waits, or after the API
   * server's time.
   */
  failure(): Failure {
    return this.retryAfterMs < 0 ? Failure.backoff(this.toString()) : Failure.after(this.toString(), this.retryAfterMs);
  }
}

/** A value, or the reason why there is none. */
export class Result<T> {
  private constructor(
    private readonly answer: T,
    /** The reason for a missing value. Null if there is a value. */
    public readonly problem: Problem | null,
  ) {}

  /** A result with a value. */
  static of<T>(value: T): Result<T> {
    return new Result<T>(value, null);
  }

  /** A result without a value. */
  static refused<T>(problem: Problem): Result<T> {
    // The zero is never visible, because value checks the problem first.
    if (isReference<T>()) return new Result<T>(changetype<T>(0), problem);
    // @ts-ignore: a number
    return new Result<T>(<T>0, problem);
  }

  /** Whether there is a value. */
  get ok(): bool {
    return this.problem === null;
  }

  /** The value. Without a value this ends the instance and logs the problem: check `ok` first. */
  get value(): T {
    const problem = this.problem;
    if (problem !== null) throw new Error(`value of a result that has none, ask ok first: ${problem.toString()}`);
    return this.answer;
  }

  /** The value, or the default. */
  or(otherwise: T): T {
    return this.ok ? this.answer : otherwise;
  }

  /** The problem as a result of handle and other calls. Null if there is none. */
  failure(): Failure | null {
    const problem = this.problem;
    return problem === null ? null : problem.failure();
  }
}
