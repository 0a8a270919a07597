// The keys of a test's plugin, and the time that the test lets pass.

/** The wait after a key's first failure. It doubles with each further one. */
const WAIT_BASE_MS = 5;
const WAIT_MAX_MS = 30_000;

export class Keys {
  /** The keys that are due, in the order of their additions. */
  due = [];
  #now = 0;
  /** The times of the delayed keys. */
  #times = new Map();
  #failures = new Map();
  /** The key of the present call, and whether that call has added it rate limited. */
  #working = { key: null, isLimited: false };

  add(key) {
    if (!this.due.includes(key)) this.due.push(key);
  }

  addAfter(key, ms) {
    if (ms <= 0) this.add(key);
    else this.#delay(key, ms);
  }

  /** The earliest of several times for a key counts. */
  #delay(key, ms) {
    this.#times.set(key, Math.min(this.#now + ms, this.#times.get(key) ?? Infinity));
  }

  addRateLimited(key) {
    if (key === this.#working.key) this.#working.isLimited = true;
    const failures = this.numRequeues(key);
    this.#failures.set(key, failures + 1);
    this.#delay(key, Math.min(WAIT_BASE_MS * 2 ** failures, WAIT_MAX_MS));
  }

  forget(key) {
    this.#failures.delete(key);
  }

  numRequeues(key) {
    return this.#failures.get(key) ?? 0;
  }

  /** The milliseconds until each delayed key is due. */
  get delayed() {
    return Object.fromEntries([...this.#times].map(([key, time]) => [key, time - this.#now]));
  }

  /** Lets time pass. The keys that are due by then follow in the order of their times. */
  wait(ms) {
    this.#now += ms;
    const due = [...this.#times].filter(([, time]) => time <= this.#now).sort(([, one], [, other]) => one - other);
    for (const [key] of due) {
      this.#times.delete(key);
      this.add(key);
    }
  }

  /** Takes the first key that is due. Returns the key and the number of its attempt. */
  take() {
    const key = this.due.shift();
    this.#working = { key, isLimited: false };
    return [key, this.numRequeues(key) + 1];
  }

  /** Ends the call for the key: a success, after which the key comes again by `ms` if that is not null. */
  succeed(ms) {
    const { key, isLimited } = this.#working;
    this.#working = { key: null, isLimited: false };
    if (!isLimited) this.forget(key);
    if (ms !== null) this.#delay(key, ms);
  }

  /** The same for a failure. */
  fail({ tag, val }) {
    const { key } = this.#working;
    this.#working = { key: null, isLimited: false };
    if (tag === "backoff") this.addRateLimited(key);
    else if (tag === "after-ms") this.#delay(key, Number(val));
    else this.forget(key);
  }
}
