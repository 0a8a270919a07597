// The plugin's section of the host's configuration. A key with a wrong type, or one that the plugin does not read, is
// a mistake that would stay unnoticed. failure reports it.

import { Failure } from "./failure";
import { Json, JsonKind } from "./json/json";

const KINDS: string[] = ["nothing", "null", "a boolean", "a number", "a text", "a list", "an object", "JSON"];

/** The plugin's configuration, an object. */
export class Config {
  private problems: string[] = [];
  private read: string[] = [];

  constructor(
    /** The whole configuration, for other ways of reading. failure does not notice what is read here. */
    public readonly json: Json,
  ) {}

  /** The member with this name, or nothing. */
  get(name: string): Json {
    if (!this.read.includes(name)) this.read.push(name);
    return this.json.get(name);
  }

  /** A text, or the default. */
  text(name: string, otherwise: string): string {
    return this.fitting(name, JsonKind.Text).asText(otherwise);
  }

  /** A number, or the default. */
  number(name: string, otherwise: f64): f64 {
    return this.fitting(name, JsonKind.Number).asNumber(otherwise);
  }

  /** An integer, or the default. */
  integer(name: string, otherwise: i64): i64 {
    const found = this.fitting(name, JsonKind.Number);
    if (found.isNumber && !found.isInteger) this.problems.push(`${name} is ${found.text}, and should be an integer`);
    return found.asInteger(otherwise);
  }

  /** A boolean, or the default. */
  bool(name: string, otherwise: bool): bool {
    return this.fitting(name, JsonKind.Boolean).asBool(otherwise);
  }

  /** A list of texts, or the default. */
  texts(name: string, otherwise: string[]): string[] {
    const found = this.fitting(name, JsonKind.Array);
    if (found.isNothing) return otherwise;
    const all: string[] = [];
    for (let i = 0; i < found.length; i++) {
      const item = found.item(i);
      if (!item.isText) this.problems.push(`item ${i} of ${name} is ${KINDS[item.kind]}, and should be a text`);
      all.push(item.asText());
    }
    return all;
  }

  private fitting(name: string, kind: JsonKind): Json {
    const found = this.get(name);
    if (found.kind == kind || found.isNothing) return found;
    this.problems.push(`${name} is ${KINDS[found.kind]}, and should be ${KINDS[kind]}`);
    return Json.NOTHING;
  }

  /** The keys that do not fit or were not read so far. Null if there are none. Return it at the end of start. */
  failure(): Failure | null {
    const problems = this.problems.slice(0);
    const names = this.json.names;
    for (let i = 0; i < names.length; i++) {
      if (!this.read.includes(names[i])) problems.push(`there is no ${names[i]}; known are: ${this.read.join(", ")}`);
    }
    return problems.length == 0 ? null : Failure.never(`the plugin's configuration does not fit: ${problems.join("; ")}`);
  }
}
