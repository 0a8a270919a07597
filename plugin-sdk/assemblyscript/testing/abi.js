// The host's side of the canonical ABI: values of the contract's types in a plugin's memory, and as flat parameters.

const align = (at, to) => Math.ceil(at / to) * to;

/** A plugin's memory, which may move at every call of the plugin. */
export class Memory {
  constructor(exports) {
    this.exports = exports;
  }
  get view() {
    return new DataView(this.exports.memory.buffer);
  }
  bytes(at, length) {
    const all = this.exports.memory.buffer;
    if (at + length > all.byteLength) throw new RangeError(`the plugin names ${length} bytes at ${at}, and has ${all.byteLength}`);
    return new Uint8Array(all, at, length);
  }
  /** Requests memory from the plugin, as a host does: also of size 0, and to enlarge a block. */
  grab(size, to, old = 0, oldSize = 0) {
    const at = this.exports.cabi_realloc(old, oldSize, to, size) >>> 0;
    if (at === 0 || at % to !== 0) throw new Error(`cabi_realloc gave ${at} for ${size} bytes aligned to ${to}`);
    this.bytes(at, size);
    return at;
  }
}

// `flat` of a type lists the kinds of words that it has as a parameter.

/** A type of one number. */
const plain = (kind, size, get, set, lift = (value) => value, lower = lift) => ({
  size, align: size, flat: [kind],
  load: (memory, at) => lift(memory.view[get](at, true)),
  store: (memory, at, value) => memory.view[set](at, lower(value), true),
  lift: (memory, words) => lift(words.shift()),
  lower: (memory, value) => [lower(value)],
});

export const u16 = plain("i32", 2, "getUint16", "setUint16");
export const u32 = plain("i32", 4, "getUint32", "setUint32", (value) => value >>> 0);
export const u64 = plain("i64", 8, "getBigUint64", "setBigUint64", (value) => Number(BigInt.asUintN(64, value)), BigInt);
export const f64 = plain("f64", 8, "getFloat64", "setFloat64");
export const bool = plain("i32", 1, "getUint8", "setUint8", Boolean, Number);

/** A type with an address and a length. */
const slice = (load, lower) => ({
  size: 8, align: 4, flat: ["i32", "i32"],
  load: (memory, at) => load(memory, memory.view.getUint32(at, true), memory.view.getUint32(at + 4, true)),
  store: (memory, at, value) => {
    const [place, length] = lower(memory, value);
    memory.view.setUint32(at, place, true);
    memory.view.setUint32(at + 4, length, true);
  },
  lift: (memory, words) => load(memory, words.shift() >>> 0, words.shift() >>> 0),
  lower,
});

const lowerBytes = (memory, value) => {
  const at = memory.grab(value.length, 1);
  memory.bytes(at, value.length).set(value);
  return [at, value.length];
};

/** A host may not know the length of a text in advance, and enlarge its block while it writes. */
const lowerText = (memory, value) => {
  const bytes = new TextEncoder().encode(value);
  const half = bytes.length >> 1;
  const [at] = lowerBytes(memory, bytes.subarray(0, half));
  const all = memory.grab(bytes.length, 1, at, half);
  memory.bytes(all + half, bytes.length - half).set(bytes.subarray(half));
  return [all, bytes.length];
};

/** A host ends a plugin that passes invalid UTF-8. */
export const string = slice(
  (memory, at, length) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(memory.bytes(at, length)),
  lowerText,
);
export const bytes = slice((memory, at, length) => memory.bytes(at, length).slice(), lowerBytes);

export const list = (of) =>
  slice(
    (memory, at, length) => Array.from({ length }, (_, place) => of.load(memory, at + place * of.size)),
    (memory, values) => {
      const at = memory.grab(values.length * of.size, of.align);
      values.forEach((value, place) => of.store(memory, at + place * of.size, value));
      return [at, values.length];
    },
  );

/** A sequence of types with names. */
export function record(fields) {
  let size = 0;
  const places = Object.entries(fields).map(([name, type]) => {
    const at = align(size, type.align);
    size = at + type.size;
    return [name, type, at];
  });
  const most = Math.max(...places.map(([, type]) => type.align));
  return {
    size: align(size, most), align: most, flat: places.flatMap(([, type]) => type.flat),
    load: (memory, at) => Object.fromEntries(places.map(([name, type, offset]) => [name, type.load(memory, at + offset)])),
    store: (memory, at, value) => places.forEach(([name, type, offset]) => type.store(memory, at + offset, value[name])),
    lift: (memory, words) => Object.fromEntries(places.map(([name, type]) => [name, type.lift(memory, words)])),
    lower: (memory, value) => places.flatMap(([name, type]) => type.lower(memory, value[name])),
  };
}

/** The same without names. */
export function tuple(...types) {
  const of = record({ ...types });
  return { ...of, load: (memory, at) => Object.values(of.load(memory, at)), lift: (memory, words) => Object.values(of.lift(memory, words)) };
}

/**
 * One of several cases, each with a type or none: { tag, val }. Variants whose cases have words of different kinds are
 * not supported as parameters.
 */
export function variant(cases) {
  const names = Object.keys(cases);
  const types = Object.values(cases);
  const most = Math.max(1, ...types.map((type) => type?.align ?? 1));
  const largest = Math.max(0, ...types.map((type) => type?.size ?? 0));
  const flat = types.reduce((longest, type) => (type !== null && type.flat.length > longest.length ? type.flat : longest), []);
  const made = (number, val) => {
    if (number >= names.length) throw new RangeError(`the plugin names case ${number} of ${names.join(", ")}`);
    return types[number] === null ? { tag: names[number] } : { tag: names[number], val: val(types[number]) };
  };
  return {
    size: align(most + largest, most), align: most, flat: ["i32", ...flat],
    load: (memory, at) => made(memory.view.getUint8(at), (type) => type.load(memory, at + most)),
    store: (memory, at, { tag, val }) => {
      const number = names.indexOf(tag);
      if (number < 0) throw new RangeError(`${tag} is none of ${names.join(", ")}`);
      memory.view.setUint8(at, number);
      types[number]?.store(memory, at + most, val);
    },
    lift: (memory, words) => {
      const number = words.shift();
      const rest = words.splice(0, flat.length);
      return made(number, (type) => type.lift(memory, rest));
    },
  };
}

/** Cases without types. */
export function enumeration(...names) {
  const of = variant(Object.fromEntries(names.map((name) => [name, null])));
  const lift = (memory, words) => of.lift(memory, words).tag;
  return { ...of, load: (memory, at) => of.load(memory, at).tag, store: (memory, at, tag) => of.store(memory, at, { tag }), lift };
}

/** A value or null. */
export function option(type) {
  const of = variant({ none: null, some: type });
  const value = ({ val = null }) => val;
  return {
    ...of,
    load: (memory, at) => value(of.load(memory, at)),
    store: (memory, at, val) => of.store(memory, at, val === null || val === undefined ? { tag: "none" } : { tag: "some", val }),
    lift: (memory, words) => value(of.lift(memory, words)),
  };
}

/** The value or the error of a function. */
export const result = (ok, error) => ({ ...variant({ ok, err: error }), isResult: true });

/** The largest number of words that are parameters. More words are in memory. */
const PARAMETERS_MAX = 16;

/**
 * A function's type in WebAssembly: the kinds of its parameters and of its result. A larger result is in memory; an
 * import gets its address as a parameter.
 */
export function coreType([types, type], isImport) {
  const words = types.flatMap(({ flat }) => flat);
  const taken = words.length > PARAMETERS_MAX ? ["i32"] : words;
  if (type === null) return [taken, []];
  if (type.flat.length === 1) return [taken, type.flat];
  return isImport ? [[...taken, "i32"], []] : [taken, ["i32"]];
}

/** The parameters for a call of an export. */
export function parameters(memory, types, values) {
  if (types.flatMap(({ flat }) => flat).length > PARAMETERS_MAX) {
    const all = tuple(...types);
    const at = memory.grab(all.size, all.align);
    all.store(memory, at, values);
    return [at];
  }
  return types.flatMap((type, place) => type.lower(memory, values[place]));
}
