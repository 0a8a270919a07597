// JSON in the host's answers.

import { Result } from "../problem";
import { Json } from "./json";

/** An optional object. */
export function wholeAt(at: usize): Result<Json> {
  return load<u8>(at) == 0 ? Result.of<Json>(Json.NOTHING) : Json.parseAt(load<usize>(at, 4), load<usize>(at, 8));
}

/** A list of optional values, each as JSON. */
export function fieldsAt(at: usize): Json[] {
  const from = load<usize>(at);
  const count = load<i32>(at, 4);
  const all = new Array<Json>(count);
  for (let i = 0; i < count; i++) all[i] = wholeAt(from + 12 * i).value;
  return all;
}
