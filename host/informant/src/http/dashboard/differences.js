// The differences of two states of an object.

// Names of members whose change is of no interest by itself.
const SILENT = new Set(['/metadata/resourceVersion', '/metadata/managedFields', '/metadata/generation']);

// What changed, as `{path, before, after}` with JSON pointers (RFC 6901). A member that only one state has is `undefined` in
// the other one.
export function differences(before, after) {
  const found = [];
  compare(before, after, '', found);
  return found;
}

function compare(before, after, path, found) {
  if (SILENT.has(path) || before === after) return;
  if (!isTree(before) || !isTree(after) || Array.isArray(before) !== Array.isArray(after)) {
    found.push({ path, before, after });
    return;
  }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const step = key.replaceAll('~', '~0').replaceAll('/', '~1');
    const of = (tree) => (Object.hasOwn(tree, key) ? tree[key] : undefined);
    compare(of(before), of(after), `${path}/${step}`, found);
  }
}

function isTree(value) {
  return typeof value === 'object' && value !== null;
}

// A value in a few words.
export function short(value) {
  if (value === undefined) return 'absent';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
