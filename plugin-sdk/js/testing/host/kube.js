import { encode, world } from "../world.js";

const parsed = (body) => JSON.parse(new TextDecoder().decode(body));
const write = (made) => {
  world().writes.push(made);
  return world().answerWrite(made);
};

export const create = (resource, key, subresource, body) => encode(write({ verb: "create", resource, key, subresource, body: parsed(body) }));
export const update = (resource, key, subresource, body) => encode(write({ verb: "update", resource, key, subresource, body: parsed(body) }));
export const patch = (resource, key, subresource, type, body) =>
  encode(write({ verb: "patch", resource, key, subresource, type, body: parsed(body) }));
const remove = (resource, key, uid) => void write({ verb: "delete", resource, key, uid });
export { remove as delete };
export const recordEvent = (resource, key, warning, reason, message) => void write({ verb: "event", resource, key, warning, reason, message });
