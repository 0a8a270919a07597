// Writes JSON as parts of one text.

import { Json, JsonKind } from "./json";

/** Adds the JSON of a value to the parts. */
export function write(value: Json, parts: string[]): void {
  switch (value.kind) {
    case JsonKind.Text:
      quote(value.text, parts);
      break;
    case JsonKind.Array:
      parts.push("[");
      for (let i = 0; i < value.length; i++) {
        if (i > 0) parts.push(",");
        write(value.item(i), parts);
      }
      parts.push("]");
      break;
    case JsonKind.Object:
      parts.push("{");
      for (let i = 0; i < value.length; i++) {
        if (i > 0) parts.push(",");
        quote(value.name(i), parts);
        parts.push(":");
        write(value.item(i), parts);
      }
      parts.push("}");
      break;
    case JsonKind.Nothing:
    case JsonKind.Null:
      parts.push("null");
      break;
    default:
      parts.push(value.text);
  }
}

/** A text in quotes. Only quotes, backslashes and control characters are escaped; JSON requires no other escapes. */
function quote(text: string, parts: string[]): void {
  parts.push('"');
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 32 && unit != 34 && unit != 92) continue;
    if (i > from) parts.push(text.substring(from, i));
    parts.push(escaped(unit));
    from = i + 1;
  }
  parts.push(from == 0 ? text : text.substring(from));
  parts.push('"');
}

function escaped(unit: i32): string {
  switch (unit) {
    case 34:
      return '\\"';
    case 92:
      return "\\\\";
    case 10:
      return "\\n";
    case 13:
      return "\\r";
    case 9:
      return "\\t";
    default:
      return "\\u00" + (unit < 16 ? "0" : "1") + (unit & 15).toString(16);
  }
}
