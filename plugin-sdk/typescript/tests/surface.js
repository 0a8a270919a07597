// Compares the declarations with the modules as they are: for each object, the names of its members and the number of
// arguments of its functions, as statements that only agreeing declarations satisfy.

const HEAD = `import * as sdk from "informant-plugin";
import { Host } from "informant-plugin/testing";

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type Of<F> = F extends (...values: infer A) => unknown ? A["length"] : "no function";
/** The least number of arguments. It is among the possible numbers, and the next smaller number is not. */
type Takes<F, N extends number, Less extends number> = number extends Of<F> ? N extends 0 ? true : false
  : [N] extends [Of<F>] ? (Less extends Of<F> ? false : true) : false;
`;

const literals = (names) => names.map((name) => JSON.stringify(name)).join(" | ");

const same = (type, names) => `true satisfies Same<keyof ${type}, ${literals(names)}>; // ${type}\n`;

/** Statements about the members of a value, with this text for its type. */
function members(type, of, names = Object.keys(of)) {
  const functions = names.filter((name) => typeof Object.getOwnPropertyDescriptor(of, name)?.value === "function");
  const takes = functions.map((name) => {
    const { length } = of[name];
    return `true satisfies Takes<${type}[${JSON.stringify(name)}], ${length}, ${length - 1}>; // ${type}: ${name}\n`;
  });
  return `${same(type, names)}${takes.join("")}`;
}

/** The text of a file that compiles if the declarations have all that the modules have, and no more. */
export function surface(sdk, testing, event, exports) {
  const isGroup = (value) => typeof value === "object";
  const groups = Object.entries(sdk).filter(([, value]) => isGroup(value));
  const prototype = Object.getOwnPropertyNames(testing.Host.prototype).filter((name) => name !== "constructor");
  const ofEvent = [...Object.keys(event), ...Object.getOwnPropertyNames(Object.getPrototypeOf(event))].filter((name) => name !== "constructor");
  return [
    HEAD,
    `true satisfies Same<keyof typeof sdk, ${literals(Object.keys(sdk))}>; // the SDK\n`,
    `true satisfies Same<keyof typeof import("informant-plugin/testing"), ${literals(Object.keys(testing))}>; // its tests\n`,
    ...groups.map(([name, group]) => members(`typeof sdk.${name}`, group)),
    ...["never", "after", "plugin"].map((name) => `true satisfies Takes<typeof sdk.${name}, ${sdk[name].length}, ${sdk[name].length - 1}>; // ${name}\n`),
    same("sdk.Event", [...new Set(ofEvent)]),
    members("Host", testing.Host.prototype, [...prototype, "descriptor"]),
    same("sdk.Exports", Object.keys(exports)),
    ...Object.entries(exports).map(([name, group]) => same(`sdk.Exports[${JSON.stringify(name)}]`, Object.keys(group))),
  ].join("");
}
