// What was refused, or cannot be read: an answer, as the language has no exceptions.

import { Failure } from "./failure";

/** Why something did not succeed. */
export class Problem {
  constructor(
    /** Who says it: an interface of the contract, `kube`, or `json`. */
    public readonly what: string,
    /** A word of the contract: `not-granted`; or `refused` where the contract has none, and `malformed` of JSON. */
    public readonly kind: string,
    /** For people; empty where there is nothing to add. */
    public readonly message: string = "",
    /** Of kube's `status`: the API server's, 409. */
    public readonly code: i32 = 0,
    /** Of kube's `status`: the API server's word, `Conflict`. */
    public readonly reason: string = "",
    /** Of kube's `status`: when to try again, in milliseconds; -1 where the API server does not say. */
    public readonly retryAfterMs: i64 = -1,
  ) {}

  /** All of it in one line. */
  toString(): string {
    const status = this.code == 0 ? "" : `: ${this.code} ${this.reason}`;
    return this.message == "" ? `${this.what}: ${this.kind}${status}` : `${this.what}: ${this.kind}${status}: ${this.message}`;
  }

  /** As an answer of handle and its like, which has the call come again with growing waits, or when the API server says. */
  failure(): Failure {
    return this.retryAfterMs < 0 ? Failure.backoff(this.toString()) : Failure.after(this.toString(), this.retryAfterMs);
  }
}

/** A value, or why there is none. */
export class Result<T> {
  private constructor(
    private readonly answer: T,
    /** Why there is no value; null if there is one. */
    public readonly problem: Problem | null,
  ) {}

  /** The value is there. */
  static of<T>(value: T): Result<T> {
    return new Result<T>(value, null);
  }

  /** There is none. */
  static refused<T>(problem: Problem): Result<T> {
    // Nobody gets to see the zero: value looks first.
    if (isReference<T>()) return new Result<T>(changetype<T>(0), problem);
    // @ts-ignore: a number
    return new Result<T>(<T>0, problem);
  }

  /** Whether there is a value. */
  get ok(): bool {
    return this.problem === null;
  }

  /** The value. Where there is none this ends the instance, with the problem in the log: ask `ok` first. */
  get value(): T {
    const problem = this.problem;
    if (problem !== null) throw new Error(`value of a result that has none, ask ok first: ${problem.toString()}`);
    return this.answer;
  }

  /** The value, or this one. */
  or(otherwise: T): T {
    return this.ok ? this.answer : otherwise;
  }

  /** The problem as an answer of handle and its like; null if there is none. */
  failure(): Failure | null {
    const problem = this.problem;
    return problem === null ? null : problem.failure();
  }
}
