// In a test, `informant:plugin/log@0.1.0` is a file.

export function resolve(specifier, context, next) {
  const found = specifier.match(/^informant:plugin\/([a-z-]+)@/);
  if (found === null) return next(specifier, context);
  return { url: new URL(`./host/${found[1]}.js`, import.meta.url).href, shortCircuit: true };
}
