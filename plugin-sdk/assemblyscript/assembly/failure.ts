// What a plugin answers where it did not succeed: the language has no exceptions to throw.

/** How a failure comes again, by the contract's numbers. */
const enum Retry {
  Backoff,
  After,
  Never,
}

/** Why a call did not succeed. The instance goes on. */
export class Failure {
  private constructor(
    /** For people: the host shows it with the plugin and in dead letters. */
    public readonly message: string,
    /** The number of the contract's case. */
    public readonly retry: i32,
    /** Milliseconds, where it is to come again after so many. */
    public readonly ms: u64,
  ) {}

  /** Comes again as the plugin's rate limiter says: after a wait that grows with every failure. */
  static backoff(message: string): Failure {
    return new Failure(message, Retry.Backoff, 0);
  }

  /** Comes again after so many milliseconds. */
  static after(message: string, ms: i64): Failure {
    return new Failure(message, Retry.After, max<i64>(ms, 0));
  }

  /** Goes to the dead letters at once: trying again would not help. */
  static never(message: string): Failure {
    return new Failure(message, Retry.Never, 0);
  }
}

/** What reconcile answers: done, again or failed. */
export class Reconciled {
  constructor(
    /** Why it did not succeed; null if it did. */
    public readonly failure: Failure | null,
    /** When the key comes again, in milliseconds; -1 if it does not. */
    public readonly ms: i64,
  ) {}
}

/** The key is done with. */
export function done(): Reconciled {
  return new Reconciled(null, -1);
}

/** The key is done with for now, and comes again after so many milliseconds. */
export function again(ms: i64): Reconciled {
  return new Reconciled(null, max<i64>(ms, 0));
}

/** The key was not done with, and comes again as the failure says. */
export function failed(failure: Failure): Reconciled {
  return new Reconciled(failure, -1);
}
