// Parses JSON (RFC 8259) from UTF-8 in memory. Malformed text gives a result and never an accident.

import { decodeAt, validUntil } from "../utf8";
import { Json, JsonKind } from "./json";

/**
 * The largest depth of nested arrays and objects: 200, four times that of the deepest schemas in Kubernetes. It bounds
 * the stack.
 */
export const DEPTH_MAX: i32 = 200;

const QUOTE: u8 = 34;
const BACKSLASH: u8 = 92;

/** Parses one document. */
export class Reader {
  /** The reason for a null result of document. */
  problem: string = "";
  private at: usize;
  private end: usize;

  constructor(private start: usize, length: usize) {
    this.at = start;
    this.end = start + length;
  }

  /** The value. Null if the text is not JSON, or is nested too deeply. */
  document(): Json | null {
    const valid = validUntil(this.start, this.end);
    if (valid < this.end) {
      this.at = valid;
      return this.wrong("a byte that is no UTF-8");
    }
    const value = this.value(0);
    if (value === null) return null;
    this.space();
    return this.at < this.end ? this.wrong("something behind the value") : value;
  }

  private wrong(what: string): Json | null {
    if (this.problem == "") this.problem = `${what} at byte ${this.at - this.start} of ${this.end - this.start}`;
    return null;
  }

  /** Skips spaces. Returns the next byte, 0 at the end. */
  private space(): u8 {
    while (this.at < this.end) {
      const byte = load<u8>(this.at);
      if (byte != 32 && byte != 10 && byte != 13 && byte != 9) return byte;
      this.at++;
    }
    return 0;
  }

  private value(depth: i32): Json | null {
    const first = this.space();
    if (this.at >= this.end) return this.wrong("the end where a value is missing");
    if (first == QUOTE) {
      const text = this.text();
      return text === null ? null : new Json(JsonKind.Text, text);
    }
    if (first == 123 || first == 91) {
      if (depth >= DEPTH_MAX) return this.wrong(`more than ${DEPTH_MAX} arrays and objects in each other`);
      this.at++;
      return first == 123 ? this.object(depth + 1) : this.array(depth + 1);
    }
    if (first == 116) return this.word("true", JsonKind.Boolean);
    if (first == 102) return this.word("false", JsonKind.Boolean);
    if (first == 110) return this.word("null", JsonKind.Null);
    return this.number();
  }

  private object(depth: i32): Json | null {
    const made = Json.object();
    if (this.space() == 125) {
      this.at++;
      return made;
    }
    while (true) {
      if (this.space() != QUOTE) return this.wrong("something where a name is missing");
      const name = this.text();
      if (name === null) return null;
      if (this.space() != 58) return this.wrong("something where a colon is missing");
      this.at++;
      const value = this.value(depth);
      if (value === null) return null;
      made.append(name, value);
      const next = this.space();
      if (next != 44 && next != 125) return this.wrong("something where a comma or the object's end is missing");
      this.at++;
      if (next == 125) return made;
    }
  }

  private array(depth: i32): Json | null {
    const made = Json.array();
    if (this.space() == 93) {
      this.at++;
      return made;
    }
    while (true) {
      const value = this.value(depth);
      if (value === null) return null;
      made.push(value);
      const next = this.space();
      if (next != 44 && next != 93) return this.wrong("something where a comma or the array's end is missing");
      this.at++;
      if (next == 93) return made;
    }
  }

  private word(word: string, kind: JsonKind): Json | null {
    for (let i = 0; i < word.length; i++) {
      if (this.at + i >= this.end || load<u8>(this.at + i) != <u8>word.charCodeAt(i)) return this.wrong("something that is no value");
    }
    this.at += word.length;
    return new Json(kind, kind == JsonKind.Null ? "" : word);
  }

  /** Skips digits. Returns their number. */
  private digits(): usize {
    const from = this.at;
    while (this.at < this.end && load<u8>(this.at) >= 48 && load<u8>(this.at) <= 57) this.at++;
    return this.at - from;
  }

  private is(byte: u8): bool {
    return this.at < this.end && load<u8>(this.at) == byte;
  }

  private number(): Json | null {
    const from = this.at;
    if (this.is(45)) this.at++;
    const leads = this.is(48);
    const whole = this.digits();
    if (whole == 0) return this.wrong("something that is no value");
    if (leads && whole > 1) return this.wrong("a number that begins with 0");
    if (this.is(46)) {
      this.at++;
      if (this.digits() == 0) return this.wrong("a number without digits behind its point");
    }
    if (this.is(101) || this.is(69)) {
      this.at++;
      if (this.is(43) || this.is(45)) this.at++;
      if (this.digits() == 0) return this.wrong("a number without digits in its exponent");
    }
    return new Json(JsonKind.Number, decodeAt(from, this.at - from));
  }

  /** The text after the next quote. Most texts have no escapes, and are one run of bytes. */
  private text(): string | null {
    this.at++;
    let text = "";
    let from = this.at;
    while (this.at < this.end) {
      const byte = load<u8>(this.at);
      if (byte == QUOTE || byte == BACKSLASH) {
        const run = String.UTF8.decodeUnsafe(from, this.at - from);
        text = text.length == 0 ? run : text + run;
        this.at++;
        if (byte == QUOTE) return text;
        const escaped = this.escaped();
        if (escaped === null) return null;
        text += escaped;
        from = this.at;
      } else if (byte < 32) {
        this.wrong("a control character in a text");
        return null;
      } else {
        this.at++;
      }
    }
    this.wrong("the end in a text");
    return null;
  }

  /** The character after a backslash. */
  private escaped(): string | null {
    if (this.at < this.end) {
      const byte = load<u8>(this.at++);
      if (byte == 117) return this.unit();
      const place = "\"\\/bfnrt".indexOf(String.fromCharCode(byte));
      if (place >= 0) return "\"\\/\b\f\n\r\t".charAt(place);
      this.at--;
    }
    this.wrong("an escape that there is not");
    return null;
  }

  /** The four digits of `\u`: half a character stays one, as in UTF-16, and the other half may follow. */
  private unit(): string | null {
    let unit: u32 = 0;
    for (let i = 0; i < 4; i++) {
      const byte = this.at < this.end ? <u32>load<u8>(this.at) : 0;
      const small = byte | 32;
      if (byte >= 48 && byte <= 57) unit = unit * 16 + byte - 48;
      else if (small >= 97 && small <= 102) unit = unit * 16 + small - 87;
      else {
        this.wrong("an escape without four digits");
        return null;
      }
      this.at++;
    }
    return String.fromCharCode(unit);
  }
}
