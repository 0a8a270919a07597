// The objects of the present event, read on the host: for subscriptions with lazy delivery, and if a few values are
// enough. Only in handle.

import { AREA, mark, release } from "./abi/memory";
import { text, texts } from "./abi/write";
import { fieldsAt, wholeAt } from "./json/answers";
import { Json } from "./json/json";

@external("informant:plugin/event-data@0.1.0", "json")
declare function json(side: u32, into: usize): void;
@external("informant:plugin/event-data@0.1.0", "fields")
declare function fields(side: u32, pointers: usize, count: usize, into: usize): void;
@external("informant:plugin/event-data@0.1.0", "changed")
declare function changed(pointer: usize, length: usize): u32;

/** The state of the object. An addition has no old state, and a deletion has no new one. */
export enum Side {
  New,
  Old,
}

/** The objects of the present event. */
export namespace eventData {
  /** The whole object; only its metadata with the delivery `metadata`. Nothing if there is no object on that side. */
  export function object(side: Side = Side.New): Json {
    const before = mark();
    json(side, AREA);
    const whole = wholeAt(AREA).value;
    release(before);
    return whole;
  }

  /** The value at each of up to 256 JSON pointers, or nothing. */
  export function fields(pointers: string[], side: Side = Side.New): Json[] {
    return ask(pointers, side);
  }

  /** The value at a JSON pointer: `eventData.field("/spec/nodeName").asText()`. */
  export function field(pointer: string, side: Side = Side.New): Json {
    return ask([pointer], side)[0];
  }

  /**
   * Whether the value at the JSON pointer differs between the two objects. Always true if there is only one of them.
   */
  export function changed(pointer: string): bool {
    return differs(pointer);
  }
}

function ask(pointers: string[], side: Side): Json[] {
  const before = mark();
  const list = texts(pointers);
  fields(side, list.at, list.length, AREA);
  const values = fieldsAt(AREA);
  release(before);
  return values;
}

function differs(pointer: string): bool {
  const before = mark();
  const place = text(pointer);
  const is = changed(place.at, place.length) != 0;
  release(before);
  return is;
}
