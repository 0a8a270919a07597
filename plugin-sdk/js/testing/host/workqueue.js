import { world } from "../world.js";

export const add = (key) => world().keys.add(key);
export const addAfter = (key, ms) => world().keys.addAfter(key, Number(ms));
export const addRateLimited = (key) => world().keys.addRateLimited(key);
export const forget = (key) => world().keys.forget(key);
export const numRequeues = (key) => world().keys.numRequeues(key);
export const len = () => world().keys.due.length;
