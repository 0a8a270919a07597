import { encode, field, world } from "../world.js";

export const json = (side) => (world().event[side] === null ? null : encode(world().event[side]));
export const fields = (side, pointers) => pointers.map((pointer) => field(world().event[side], pointer));
export const changed = (pointer) => field(world().event.new, pointer) !== field(world().event.old, pointer);
