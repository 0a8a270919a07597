// In a test all objects are on one page.

import { encode, field, keyOf, world } from "../world.js";

export const get = (resource, key) => {
  const object = world().of(resource).get(keyOf(key));
  return object === undefined ? null : encode(object);
};
export const fields = (resource, key, pointers) => {
  const object = world().of(resource).get(keyOf(key));
  return object === undefined ? null : pointers.map((pointer) => field(object, pointer));
};
export const list = (resource, namespace, labels) => {
  const wanted = labels.split(",").filter(Boolean).map((part) => part.split(/==?/).map((word) => word.trim()));
  const bad = wanted.find((part) => part.length !== 2);
  if (bad !== undefined) throw { tag: "invalid", val: `tests know selectors of the form a=b,c=d, not ${labels}` };
  const is = ({ metadata }) =>
    (namespace === null || (metadata.namespace ?? "") === namespace) &&
    wanted.every(([name, value]) => metadata.labels?.[name] === value);
  return { items: world().sorted(resource).filter(is).map(encode), next: null };
};
const under = (resource, index, value) =>
  world().indexed(resource, index).filter(([texts]) => texts.includes(value)).map(([, object]) => object);
export const byIndex = (resource, index, value) => ({ items: under(resource, index, value).map(encode), next: null });
export const indexKeys = (resource, index, value) => ({
  keys: under(resource, index, value).map(({ metadata }) => ({ namespace: metadata.namespace ?? "", name: metadata.name })),
  next: null,
});
export const indexValues = (resource, index) => {
  const values = world().indexed(resource, index).flatMap(([texts]) => texts);
  return { values: [...new Set(values)].sort(), next: null };
};
export const count = (resource, namespace) => list(resource, namespace, "").items.length;
export const hasSynced = () => true;
