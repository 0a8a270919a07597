import { world } from "../world.js";

const name = (series, labels) => `${series}{${labels.map(([label, value]) => `${label}=${value}`).join(",")}}`;
const add = (series, labels, value) => {
  const of = name(series, labels);
  world().series.set(of, (world().series.get(of) ?? 0) + value);
};

export const counterAdd = add;
export const histogramObserve = add;
export const gaugeSet = (series, labels, value) => void world().series.set(name(series, labels), value);
