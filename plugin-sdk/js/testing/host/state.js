import { world } from "../world.js";

export const get = (key) => world().values.get(key) ?? null;
export const set = (key, value) => void (value === null ? world().values.delete(key) : world().values.set(key, value));
export const keys = (prefix) => [...world().values.keys()].filter((key) => key.startsWith(prefix)).sort();
