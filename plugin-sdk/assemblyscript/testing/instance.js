// One instance of a plugin in Node.js: its exports with the contract's names and JavaScript's values.

import { Memory, parameters } from "./abi.js";
import { EXPORTS, IMPORTS, interfaceName } from "./contract.js";
import { functions } from "./world.js";

/**
 * A result of the contract: the value that a function returns, or its thrown error. An accidental exception is not a
 * result.
 */
function answered(type, f) {
  if (type?.isResult !== true) return f();
  try {
    return { tag: "ok", val: f() };
  } catch (refused) {
    if (typeof refused !== "string" && refused?.tag === undefined) throw refused;
    return { tag: "err", val: refused };
  }
}

/**
 * A host function in the form that WebAssembly calls. A result of more than one word goes to the address in the last
 * parameter.
 */
function lowered(memory, [types, type], f) {
  return (...words) => {
    const into = type !== null && type.flat.length > 1 ? words.pop() >>> 0 : null;
    const values = types.map((one) => one.lift(memory(), words));
    const value = answered(type, () => f(...values));
    if (into !== null) type.store(memory(), into, value);
    else if (type !== null) return type.lower(memory(), value)[0];
  };
}

/**
 * The clock and the random numbers of the first WASI. In a test the time is the world's, and the random numbers are
 * always the same.
 */
function preview1(memory, world) {
  const bytes = (at, length) => memory().bytes(at >>> 0, length);
  return {
    clock_time_get: (clock, precision, into) => {
      memory().view.setBigUint64(into, BigInt(world.now) * 1_000_000n, true);
      return 0;
    },
    random_get: (at, length) => {
      bytes(at, length).forEach((_, place, all) => void (all[place] = (place * 37 + 11) & 0xff));
      return 0;
    },
  };
}

export class Instance {
  #exports;
  #memory;
  #world;
  /** The reason why the instance has ended. Null if it has not. */
  #ended = null;

  constructor(module, world) {
    this.#world = world;
    const memory = () => this.#memory;
    const imports = { wasi_snapshot_preview1: preview1(memory, world) };
    for (const [name, all] of Object.entries(functions(world))) {
      const known = Object.entries(all).map(([function_, f]) => [function_, lowered(memory, IMPORTS[name][function_], f)]);
      imports[interfaceName(name)] = Object.fromEntries(known);
    }
    this.#exports = new WebAssembly.Instance(module, imports).exports;
    this.#memory = new Memory(this.#exports);
    this.#exports._initialize?.();
  }

  /** The size of the plugin's memory, in bytes. */
  get size() {
    return this.#exports.memory.buffer.byteLength;
  }

  has(name, function_) {
    return this.#exports[`${interfaceName(name)}#${function_}`] !== undefined;
  }

  /**
   * Calls an export. Returns the value, or throws the error that the plugin returns. A trap is thrown with the error
   * that the plugin logged before it. An instance is not called after a trap.
   */
  call(name, function_, ...values) {
    const external = `${interfaceName(name)}#${function_}`;
    if (this.#exports[external] === undefined) throw new Error(`the plugin does not export ${external}`);
    if (this.#ended !== null) throw new Error(`the instance has ended: ${this.#ended}`);
    const before = this.#world.lines.length;
    let isKept = false;
    this.#world.begin(function_, this.has("reconciler", "reconcile"));
    try {
      const { tag, val = null } = this.#enter(external, EXPORTS[name][function_], values);
      if (this.#world.unqueued !== null) throw { answered: { message: this.#world.unqueued, retry: { tag: "never" } } };
      if (tag === "err") throw { answered: val };
      isKept = true;
      return val;
    } catch (reason) {
      if (reason !== null && typeof reason === "object" && "answered" in reason) throw reason;
      const said = this.#world.lines.slice(before).findLast((line) => line.startsWith("error "));
      this.#ended = said === undefined ? reason.message : `${reason.message}: ${said.slice("error ".length)}`;
      throw new Error(this.#ended, { cause: reason });
    } finally {
      this.#world.end(isKept);
    }
  }

  #enter(external, [types, type], values) {
    const place = this.#exports[external](...parameters(this.#memory, types, values));
    if (type === null) return { tag: "ok" };
    const answer = type.load(this.#memory, place >>> 0);
    this.#exports[`cabi_post_${external}`]?.(place);
    return answer;
  }
}
