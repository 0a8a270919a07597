import { world } from "../world.js";

export const isLeader = () => true;
export const pluginName = () => "test";
export const shard = () => world().shard;
export const hostVersion = () => "0.1.0";
