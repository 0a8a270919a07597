// Declares the types of a descriptor from plugin-sdk/descriptor.schema.json.

const SPECS = ["subscription", "index", "read", "write", "http", "schedule"];

/** The name of a definition. `Index` or `Read` alone would say too little in a plugin. */
const nameOf = (ref) => {
  const name = ref.split("/").at(-1);
  return name[0].toUpperCase() + name.slice(1) + (SPECS.includes(name) ? "Spec" : "");
};

const indented = (text) => text.replaceAll("\n", "\n  ");

/** The doc comment of a schema, on lines of at most 110 characters. */
function comment({ description, default: value }) {
  const words = [...(description ?? "").split(" "), ...(value === undefined ? [] : `The default is ${JSON.stringify(value)}.`.split(" "))];
  const lines = [""];
  for (const word of words.filter(Boolean)) {
    if (lines.at(-1).length + word.length > 110) lines.push("");
    lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trimStart();
  }
  if (lines.length === 1) return lines[0] === "" ? "" : `/** ${lines[0]} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}\n`).join("")} */\n`;
}

/** The properties; those of `absent` may not be there. */
function members({ properties }, required, absent = []) {
  const lines = Object.entries(properties).map(([name, schema]) => {
    if (absent.includes(name)) return `${name}?: never;\n`;
    return `${comment(schema)}${name}${required.includes(name) ? "" : "?"}: ${type(schema)};\n`;
  });
  return `{\n  ${indented(lines.join("")).trimEnd()}\n}`;
}

/** An object of which exactly one of several properties is required is a union with a member for each. */
function object(schema) {
  const { required = [], oneOf } = schema;
  if (oneOf === undefined) return members(schema, required);
  const choices = oneOf.map(({ required: [name] }) => name);
  return choices.map((one) => members(schema, [...required, one], choices.filter((other) => other !== one))).join(" | ");
}

function type(schema) {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.type === "object") return object(schema);
  const union = schema.oneOf ?? schema.anyOf;
  if (union !== undefined) return union.map(type).join(" | ");
  if (schema.type === "array") {
    const item = type(schema.items);
    return item.includes(" ") ? `readonly (${item})[]` : `readonly ${item}[]`;
  }
  if (schema.type === "integer") return "number";
  if (["string", "boolean"].includes(schema.type)) return schema.type;
  throw new Error(`no type for ${JSON.stringify(schema)}`);
}

/** The text of descriptor.d.ts. */
export function declarations({ $defs, ...descriptor }) {
  const all = [["Descriptor", descriptor], ...Object.entries($defs).map(([name, schema]) => [nameOf(name), schema])];
  const texts = all.map(([name, schema]) => `${comment(schema)}export type ${name} = ${type(schema)};\n`);
  const head = "// The descriptor. tests/declarations.test.js in plugin-sdk/typescript writes this file from descriptor.schema.json.\n";
  return [head, ...texts].join("\n");
}
