// `state` of the host: a call sees its own writes. If the call fails, they are dropped.

const KEY_BYTES_MAX = 512;
const KEYS_MAX = 1000;
const BYTES_MAX = 1 << 20;
const WRITING = ["handle", "reconcile", "fire"];

/** The reason why a key of the state or the queue is invalid, or null. */
export function unfit(key) {
  const bytes = Buffer.byteLength(key);
  return bytes >= 1 && bytes <= KEY_BYTES_MAX ? null : `a key of ${bytes} bytes: keys have 1 to ${KEY_BYTES_MAX}`;
}

const same = (one, other) => (one === null || other === null ? one === other : Buffer.compare(one, other) === 0);

export class State {
  #kept = new Map();
  /** The state with the writes of the present call. Null before its first write. */
  #written = null;
  #call = null;

  /** Begins a call of this function. */
  begin(function_) {
    this.#call = function_;
  }

  /** Keeps the writes of the call if it has succeeded. */
  end(isKept) {
    if (isKept && this.#written !== null) this.#kept = this.#written;
    this.#written = null;
    this.#call = null;
  }

  get #values() {
    if (this.#call === "describe") throw "there is no state in `describe`";
    return this.#written ?? this.#kept;
  }

  /** Only in calls that can fail, and while no other version is in charge. */
  get #writable() {
    if (!WRITING.includes(this.#call)) throw "state is written in `handle`, `reconcile` and `fire` only";
    return this.#values;
  }

  get(key) {
    return this.#values.get(key) ?? null;
  }

  set(key, value) {
    const next = new Map(this.#writable);
    const problem = unfit(key);
    if (problem !== null) throw problem;
    if (value === null) next.delete(key);
    else next.set(key, value);
    const bytes = [...next].reduce((sum, [name, of]) => sum + Buffer.byteLength(name) + of.length, 0);
    if (value !== null && next.size > KEYS_MAX) throw `${next.size} keys, at most ${KEYS_MAX} are kept; remove some`;
    if (value !== null && bytes > BYTES_MAX) throw `${bytes} bytes, at most ${BYTES_MAX} are kept; remove some`;
    this.#written = next;
  }

  compareAndSet(key, expected, value) {
    if (!same(this.#writable.get(key) ?? null, expected)) return false;
    this.set(key, value);
    return true;
  }

  keys(prefix) {
    return [...this.#values.keys()].filter((key) => key.startsWith(prefix)).sort();
  }
}
