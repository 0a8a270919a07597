import { world } from "../world.js";

export const get = (key) => world().values.get(key) ?? null;
export const set = (key, value) => void (value === null ? world().values.delete(key) : world().values.set(key, value));
const same = (one, other) => (one === null || other === null ? one === other : Buffer.compare(one, other) === 0);
export const compareAndSet = (key, expected, value) => {
  const is = same(get(key), expected);
  if (is) set(key, value);
  return is;
};
export const keys = (prefix) => [...world().values.keys()].filter((key) => key.startsWith(prefix)).sort();
