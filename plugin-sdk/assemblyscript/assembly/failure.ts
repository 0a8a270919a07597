// The failures of a plugin's calls. They are results, because the language has no exceptions.

/** The retry of a failure, by the contract's numbers. */
const enum Retry {
  Backoff,
  After,
  Never,
}

/** The reason for a failed call. The instance continues. */
export class Failure {
  private constructor(
    /** For people: the host shows it with the plugin and in dead letters. */
    public readonly message: string,
    /** The number of the contract's case. */
    public readonly retry: i32,
    /** Milliseconds until the retry, if the failure sets them. */
    public readonly ms: u64,
  ) {}

  /** The event comes again after the wait of the plugin's rate limiter, which grows with every failure. */
  static backoff(message: string): Failure {
    return new Failure(message, Retry.Backoff, 0);
  }

  /** The event comes again after this number of milliseconds. */
  static after(message: string, ms: i64): Failure {
    return new Failure(message, Retry.After, max<i64>(ms, 0));
  }

  /** The event becomes a dead letter at once, because a retry would fail again. */
  static never(message: string): Failure {
    return new Failure(message, Retry.Never, 0);
  }
}

/** The result of reconcile: done, again or failed. */
export class Reconciled {
  constructor(
    /** The reason for a failure. Null after a success. */
    public readonly failure: Failure | null,
    /** Milliseconds until the key comes again; -1 if it does not. */
    public readonly ms: i64,
  ) {}
}

/** The work on the key is done. */
export function done(): Reconciled {
  return new Reconciled(null, -1);
}

/** The work on the key is done for now. The key comes again after this number of milliseconds. */
export function again(ms: i64): Reconciled {
  return new Reconciled(null, max<i64>(ms, 0));
}

/** The work on the key has failed. The key comes again as the failure says. */
export function failed(failure: Failure): Reconciled {
  return new Reconciled(failure, -1);
}
