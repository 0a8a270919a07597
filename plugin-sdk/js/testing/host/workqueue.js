// In a test no key is delayed.

import { world } from "../world.js";

export const add = (key) => world().add(key);
export const addAfter = add;
export const addRateLimited = add;
export const forget = () => {};
export const numRequeues = () => 0;
export const len = () => world().keys.length;
