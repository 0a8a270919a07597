export const isLeader = () => true;
export const pluginName = () => "test";
export const shard = () => [0, 1];
export const hostVersion = () => "0.1.0";
