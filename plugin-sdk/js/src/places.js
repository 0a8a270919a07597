// The places of a stack in the plugin's own files. QuickJS names a line and a column of the bundle. The build leaves a
// table of the bundle's lines in the plugin, because a source map would have to be decoded there.

/** The names of the bundle in stacks: what componentize-qjs calls it, and what QuickJS calls a text that is run. */
export const [WHOLE, TEXT] = ["componentize-qjs:user.js", "<input>"];

/** The global name of the table. */
export const TABLE = "informant-plugin: places";

/**
 * The text, with `FILE:LINE` for each place in the bundle. `lines` has for each line of the bundle the places that
 * begin there: `COLUMN,FILE,LINE`, with a space between them. FILE is an index into `files`.
 */
export function placed(text, { files = [], lines = "", name = WHOLE } = globalThis[TABLE] ?? {}) {
  if (lines === "") return text;
  const all = lines.split(";");
  return text.replace(new RegExp(`${name}:(\\d+):(\\d+)`, "g"), (whole, line, column) => {
    const places = (all[line - 1] ?? "").split(" ").map((place) => place.split(",").map(Number));
    // QuickJS counts columns from 1.
    const found = places.findLast(([from]) => from < Number(column)) ?? places[0];
    return found.length === 3 ? `${files[found[1]]}:${found[2]}` : whole;
  });
}
