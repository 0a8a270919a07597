// Quick builds, for `informant dev`. componentize-qjs compiles QuickJS at each build, because it runs the plugin's top level
// once and keeps the memory. Here the bundle is a text in that memory, and its top level runs in the plugin, at the first
// call. So a saved source needs no QuickJS: its bundle is written into a component that was built before. That component
// depends on the exports, the contract and componentize-qjs alone. The same sources make the same bytes.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { contract, CONTRACT, FUNCTIONS } from "./world.js";

const MARK = "/* here informant dev puts a bundle */\n";
const COPIES = 8_192;
/** The largest bundle, in bytes. */
export const TEXT_MAX = MARK.length * COPIES;

/** The interfaces that the contract gives to plugins. */
const imported = (wit) => [...wit.matchAll(/^ {4}import ([a-z-]+);$/gm)].map(([, name]) => name);

/**
 * The source in place of the bundle. A call gets the plugin's own function, so that stacks are as in a whole build. An error
 * of the top level is the one of each call.
 */
export function boot(wit, names) {
  const [, version] = wit.match(/^package informant:plugin@([\d.]+);/m);
  const modules = imported(wit).map((name, at) => [`m${at}`, JSON.stringify(`informant:plugin/${name}@${version}`)]);
  const getters = (name) => FUNCTIONS[name].map((of) => `get ${of}() { return made("${name}", "${of}"); }`).join(", ");
  return `${modules.map(([as, module]) => `import * as ${as} from ${module};\n`).join("")}
const host = { ${modules.map(([as, module]) => `${module}: ${as}`).join(", ")} };
const place = ${JSON.stringify(MARK)}.repeat(${COPIES});
let plugin = null;
function made(name, of) {
  try {
    plugin ??= (0, eval)(place)(host);
    return plugin[name][of];
  } catch (error) {
    return () => {
      throw \`the top level failed: \${error}\`;
    };
  }
}
${Object.keys(FUNCTIONS).filter((name) => names.includes(name)).map((name) => `export const ${name} = { ${getters(name)} };\n`).join("")}`;
}

/** QuickJS keeps such a text with a byte for each character. esbuild escapes the others. */
const isPlain = (text) => /^[\t\n\r -~]*$/.test(text);

/** The component with this text; null if it does not have one place for it. */
export function filled(component, text) {
  const place = MARK.repeat(COPIES);
  const at = component.indexOf(place);
  if (at < 0 || component.includes(place, at + 1)) return null;
  return Buffer.concat([component.subarray(0, at), Buffer.from(text.padEnd(TEXT_MAX)), component.subarray(at + TEXT_MAX)]);
}

/**
 * The plugin of a script, or null if only a whole build can make it. `componentize(source)` builds a component; `kept` is the
 * folder for the one that was built before.
 */
export async function quick(text, names, kept, componentize) {
  if (text.length > TEXT_MAX || !isPlain(text)) return null;
  const source = boot(await readFile(CONTRACT, "utf8"), names);
  const { version } = createRequire(import.meta.url)("componentize-qjs/package.json");
  const states = [source, contract(await readFile(CONTRACT, "utf8"), names), version];
  const base = join(kept, createHash("sha256").update(states.join("\n")).digest("hex"));
  const found = await readFile(base).catch(() => null);
  if (found !== null) return filled(found, text);
  const component = await componentize(source);
  await mkdir(kept, { recursive: true });
  for (const old of await readdir(kept)) await rm(join(kept, old));
  await writeFile(`${base}.partial`, component);
  await rename(`${base}.partial`, base);
  return filled(component, text);
}
