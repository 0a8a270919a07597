import { world } from "../world.js";

export const send = (request) => {
  world().requests.push(request);
  return { headers: [], body: new Uint8Array(), ...world().answerRequest(request) };
};
