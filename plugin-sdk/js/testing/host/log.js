import { world } from "../world.js";

export const enabled = () => true;
export const log = (level, message, fields) => {
  world().lines.push([level, message, ...fields.map(([name, value]) => `${name}=${value}`)].join(" "));
};
