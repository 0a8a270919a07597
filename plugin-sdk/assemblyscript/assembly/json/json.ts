// JSON as a tree of values, which can be read by pointers and created. Numbers keep their digits.

import { Problem, Result } from "../problem";
import { Reader } from "./reader";
import { write } from "./writer";

/** The kind of a value. */
export enum JsonKind {
  /** A missing value, such as that of a pointer without a target. Written as null. */
  Nothing,
  Null,
  Boolean,
  Number,
  Text,
  Array,
  Object,
  /** JSON that is written unchanged: see Json.raw. */
  Raw,
}

const NO_ITEMS: Json[] = [];
const NO_NAMES: string[] = [];

/** One value of JSON. */
export class Json {
  /** What it is. */
  readonly kind: JsonKind;
  /** The text of a text, the digits of a number, `true` or `false`, or the unchanged JSON. */
  readonly text: string;
  /** The items. The value of an object has the name at its index in `names`. */
  private values: Json[] = NO_ITEMS;
  private members: string[] = NO_NAMES;

  constructor(kind: JsonKind, text: string = "") {
    this.kind = kind;
    this.text = text;
    if (kind == JsonKind.Array || kind == JsonKind.Object) this.values = [];
    if (kind == JsonKind.Object) this.members = [];
  }

  /** The missing value. */
  static readonly NOTHING: Json = new Json(JsonKind.Nothing);

  /** Parses a text. For invalid JSON the result is a problem with the position. */
  static parse(text: string): Result<Json> {
    return Json.parseBytes(Uint8Array.wrap(String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE)));
  }

  /** The same for UTF-8. */
  static parseBytes(bytes: Uint8Array): Result<Json> {
    return Json.parseAt(bytes.dataStart, bytes.length);
  }

  /** The same for memory. */
  static parseAt(at: usize, length: usize): Result<Json> {
    const reader = new Reader(at, length);
    const value = reader.document();
    if (value === null) return Result.refused<Json>(new Problem("json", "malformed", reader.problem));
    return Result.of<Json>(value);
  }

  /** An object without members. */
  static object(): Json {
    return new Json(JsonKind.Object);
  }

  /** An array without items. */
  static array(): Json {
    return new Json(JsonKind.Array);
  }

  /** Null, which is a value: in a merge patch it removes something. */
  static null(): Json {
    return new Json(JsonKind.Null);
  }

  /** JSON that is written unchanged and not parsed, such as a fixed patch. */
  static raw(json: string): Json {
    return new Json(JsonKind.Raw, json);
  }

  /**
   * Converts a text, boolean, number, a list of these, or a Json. Numbers that JSON does not have (NaN, infinity)
   * become null.
   */
  static of<T>(value: T): Json {
    if (isReference<T>()) {
      if (isNullable<T>()) {
        if (changetype<usize>(value) == 0) return Json.null();
      }
      return Json.ofReference<NonNullable<T>>(changetype<NonNullable<T>>(value));
    }
    // To the compiler, a plain null is a usize, and would become the number 0. Equal texts have one address, so the
    // compiler can decide this.
    if (changetype<usize>(nameof<T>()) == changetype<usize>("usize")) ERROR("a Json is made of null, or of an usize: write Json.null(), or a number as <u32>value");
    if (isBoolean<T>()) return new Json(JsonKind.Boolean, value ? "true" : "false");
    if (isFloat<T>()) return Json.ofNumber(<f64>value);
    // @ts-ignore: an integer
    return new Json(JsonKind.Number, value.toString());
  }

  private static ofReference<T>(value: T): Json {
    if (isString<T>()) return new Json(JsonKind.Text, changetype<string>(value));
    if (isArray<T>()) {
      const all = Json.array();
      // @ts-ignore: an array
      for (let i = 0; i < value.length; i++) all.push(value[i]);
      return all;
    }
    if (idof<T>() == idof<Json>()) return changetype<Json>(value);
    ERROR("a Json is made of texts, booleans, numbers, lists of such, and of Json");
  }

  private static ofNumber(value: f64): Json {
    if (!isFinite(value)) return Json.null();
    const whole = <i64>value;
    // Written as an integer if it is one: to an API server 1.0 is not a number of replicas. Beyond 2^53 not every
    // integer is an f64.
    const isWhole = Math.abs(value) <= 9007199254740992 && <f64>whole == value;
    return new Json(JsonKind.Number, isWhole ? whole.toString() : value.toString());
  }

  get isNothing(): bool {
    return this.kind == JsonKind.Nothing;
  }
  get isNull(): bool {
    return this.kind == JsonKind.Null;
  }
  get isText(): bool {
    return this.kind == JsonKind.Text;
  }
  get isNumber(): bool {
    return this.kind == JsonKind.Number;
  }
  get isBoolean(): bool {
    return this.kind == JsonKind.Boolean;
  }
  get isArray(): bool {
    return this.kind == JsonKind.Array;
  }
  get isObject(): bool {
    return this.kind == JsonKind.Object;
  }

  /** The text, or the default for another kind. */
  asText(otherwise: string = ""): string {
    return this.isText ? this.text : otherwise;
  }

  /** The number, or the default for another kind. */
  asNumber(otherwise: f64 = 0): f64 {
    return this.isNumber ? parseFloat(this.text) : otherwise;
  }

  /** The number if it is an integer of 64 bits in integer notation, or the default. All of its digits count. */
  asInteger(otherwise: i64 = 0): i64 {
    return this.isInteger ? I64.parseInt(this.text) : otherwise;
  }

  /** Whether asInteger returns the value itself. */
  get isInteger(): bool {
    if (!this.isNumber) return false;
    const text = this.text;
    const isNegative = text.charCodeAt(0) == 45;
    const digits = isNegative ? text.substring(1) : text;
    for (let i = 0; i < digits.length; i++) {
      const digit = digits.charCodeAt(i);
      if (digit < 48 || digit > 57) return false;
    }
    if (digits.length != 19) return digits.length < 19;
    return digits <= (isNegative ? "9223372036854775808" : "9223372036854775807");
  }

  /** The boolean, or the default for another kind. */
  asBool(otherwise: bool = false): bool {
    return this.isBoolean ? this.text == "true" : otherwise;
  }

  /** The items of an array, or the values of an object. Empty for other kinds. */
  get items(): Json[] {
    return this.values.slice(0);
  }

  /** The names of an object in their order. Empty for other kinds. */
  get names(): string[] {
    return this.members.slice(0);
  }

  /** The number of items or members. */
  get length(): i32 {
    return this.values.length;
  }

  /** The item at this index, or nothing. */
  item(place: i32): Json {
    return place >= 0 && place < this.values.length ? this.values[place] : Json.NOTHING;
  }

  /** The name at this index of an object. Empty beyond the end. */
  name(place: i32): string {
    return place >= 0 && place < this.members.length ? this.members[place] : "";
  }

  /** The member with this name; the last one of several. Nothing if there is none. */
  get(name: string): Json {
    for (let i = this.members.length - 1; i >= 0; i--) {
      if (this.members[i] == name) return this.values[i];
    }
    return Json.NOTHING;
  }

  /**
   * The value at a JSON pointer: `/metadata/labels/app`, with `~1` for a slash in a name and `~0` for a tilde. Nothing
   * if there is none.
   */
  at(pointer: string): Json {
    if (pointer == "") return this;
    if (pointer.charCodeAt(0) != 47) return Json.NOTHING;
    const steps = pointer.split("/");
    let found: Json = this;
    for (let i = 1; i < steps.length && !found.isNothing; i++) {
      const step = steps[i].indexOf("~") < 0 ? steps[i] : steps[i].replaceAll("~1", "/").replaceAll("~0", "~");
      found = found.isArray ? found.item(placeOf(step)) : found.get(step);
    }
    return found;
  }

  /** Sets or replaces a member of an object. Returns the object. Ends the instance for another kind. */
  set<T>(name: string, value: T): Json {
    if (!this.isObject) throw new Error(`member ${name} of a Json that is no object: begin with Json.object()`);
    const made = Json.of<T>(value);
    const place = this.members.indexOf(name);
    if (place >= 0) {
      this.values[place] = made;
    } else {
      this.members.push(name);
      this.values.push(made);
    }
    return this;
  }

  /** Adds an item to an array. Returns the array. Ends the instance for another kind. */
  push<T>(value: T): Json {
    if (!this.isArray) throw new Error("item of a Json that is no array: begin with Json.array()");
    this.values.push(Json.of<T>(value));
    return this;
  }

  /** Adds a member without a check for its name: for the reader. */
  append(name: string, value: Json): void {
    this.members.push(name);
    this.values.push(value);
  }

  /** As JSON, without spaces. */
  toString(): string {
    const parts: string[] = [];
    write(this, parts);
    return parts.join("");
  }
}

/** The index that a step of a pointer names; -1 if it is not a number. */
function placeOf(step: string): i32 {
  if (step.length == 0 || step.length > 9 || (step.length > 1 && step.charCodeAt(0) == 48)) return -1;
  for (let i = 0; i < step.length; i++) {
    if (step.charCodeAt(i) < 48 || step.charCodeAt(i) > 57) return -1;
  }
  return I32.parseInt(step);
}
