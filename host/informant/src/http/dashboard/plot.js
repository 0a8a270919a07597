// A small plot of one series over the last minutes.

import { h, svg } from './elements.js';

const [WIDTH, HEIGHT] = [320, 90];

// `unit` shows a value in words.
export function plot(name, series, unit) {
  const values = series.map(({ value }) => value).filter((value) => value !== null);
  const newest = values.at(-1) ?? null;
  const most = Math.max(...values, 0);
  const caption = h('figcaption', {}, h('span', {}, name), h('strong', {}, unit(newest)));
  const label = `${name}: now ${unit(newest)}, at most ${unit(most)} in the last ${minutes(series)}`;
  const picture = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label, preserveAspectRatio: 'none' },
    svg('line', { x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1, class: 'axis' }),
    lines(series, most).map((points) => [
      svg('polygon', { class: 'area', points: `${points[0][0]},${HEIGHT} ${points.join(' ')} ${points.at(-1)[0]},${HEIGHT}` }),
      svg('polyline', { class: 'line', points: points.join(' ') }),
    ]));
  return h('figure', { class: 'plot' }, caption, picture, h('p', { class: 'detail' }, `most ${unit(most)} in ${minutes(series)}`));
}

// The series as lines of points. A value that is not known interrupts the line.
function lines(series, most) {
  const [first, last] = [series[0]?.at ?? 0, series.at(-1)?.at ?? 1];
  const x = (at) => ((at - first) / Math.max(1, last - first)) * WIDTH;
  const y = (value) => HEIGHT - 2 - (value / (most || 1)) * (HEIGHT - 8);
  const all = [[]];
  for (const { at, value } of series) {
    if (value === null) all.push([]);
    else all.at(-1).push([x(at).toFixed(1), y(value).toFixed(1)]);
  }
  return all.filter((line) => line.length > 1);
}

function minutes(series) {
  const seconds = series.length ? (series.at(-1).at - series[0].at) / 1000 : 0;
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}
