// `Date` in tests that let time pass: the one of the test's process, or the test's own, and later by that time.

let moved = null;

/** Moves `Date` by this number of milliseconds. */
export function move(ms) {
  if (globalThis.Date !== moved?.date) moved = later(globalThis.Date);
  moved.ms += ms;
  globalThis.Date = moved.date;
}

/** Ends what `move` did. */
export function reset() {
  if (moved !== null && globalThis.Date === moved.date) globalThis.Date = moved.real;
  moved = null;
}

function later(real) {
  const made = { real, ms: 0 };
  const now = () => real.now() + made.ms;
  made.date = new Proxy(real, {
    get: (of, name, self) => (name === "now" ? now : Reflect.get(of, name, self)),
    construct: (of, values, self) => Reflect.construct(of, values.length === 0 ? [now()] : values, self === made.date ? of : self),
    apply: (of) => new of(now()).toString(),
  });
  return made;
}
