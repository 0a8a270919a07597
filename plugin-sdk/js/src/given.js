// The functions that a plugin consists of. A build looks at them: a plugin in a host does not.

/** The global name of the build's function for them. */
export const GIVEN = "informant-plugin: given";

export const give = (is) => globalThis[GIVEN]?.(Object.keys(is).filter((name) => typeof is[name] === "function"));
