// Math.random with a seed of each instance. QuickJS seeds its own generator once, at the build, and a component keeps that
// memory: all instances would have the same numbers.

let [a, b, c, count] = Array.from({ length: 4 }, () => (Math.random() * 2 ** 32) | 0);

/** The next 32 bits, by the generator sfc32. */
function next() {
  const bits = (a + b + count) | 0;
  count = (count + 1) | 0;
  a = b ^ (b >>> 9);
  b = (c + (c << 3)) | 0;
  c = (((c << 21) | (c >>> 11)) + bits) | 0;
  return bits >>> 0;
}

/** Changes the sequence by the clocks' present values. */
export function seed() {
  const clocks = Float64Array.of(Date.now(), globalThis.performance?.now() ?? 0);
  for (const bits of new Uint32Array(clocks.buffer)) {
    a ^= bits;
    for (let round = 0; round < 12; round++) next();
  }
}

Math.random = () => (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53;
