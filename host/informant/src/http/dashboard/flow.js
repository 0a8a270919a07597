// The picture of the flow: informers on the left, plugins on the right, and a line for each subscription and read.

import { kindOf, svg } from './elements.js';
import { rate } from './units.js';

// What is drawn of each side: those with the most events and calls.
const SHOWN_MAX = 12;
const [WIDTH, ROW, BOX] = [900, 44, 300];

export function flow(host) {
  const informers = busiest(host.informers, ({ resource }) => host.history.informerRate(resource) ?? 0);
  const plugins = busiest(host.plugins, ({ name }) => host.history.pluginRate(name, 'calls') ?? 0);
  const rows = Math.max(informers.shown.length, plugins.shown.length, 1);
  const height = rows * ROW + 28;
  const y = (side, number) => ((number + 0.5) * rows * ROW) / Math.max(1, side.length);
  const lines = plugins.shown.flatMap((plugin, to) =>
    wanted(plugin).map(({ resource, reads }) => {
      const from = informers.shown.findIndex((informer) => informer.resource === resource);
      return from < 0 ? null : link(y(informers.shown, from), y(plugins.shown, to), reads,
        host.history.pluginRate(plugin.name, 'calls'));
    }));
  const boxes = [
    informers.shown.map((informer, number) => box(0, y(informers.shown, number), informer.resource, informer.state,
      `${rate(host.history.informerRate(informer.resource))}, ${informer.objects} objects`, '#/informers')),
    plugins.shown.map((plugin, number) => box(WIDTH - BOX, y(plugins.shown, number), plugin.name, plugin.state,
      `${rate(host.history.pluginRate(plugin.name, 'calls'))} calls`, `#/plugin?name=${encodeURIComponent(plugin.name)}`)),
  ];
  const more = [
    informers.left > 0 && svg('text', { x: 8, y: height - 6, class: 'small' }, `${informers.left} more informers`),
    plugins.left > 0 && svg('text', { x: WIDTH - BOX + 8, y: height - 6, class: 'small' }, `${plugins.left} more plugins`),
  ];
  return svg('svg', { viewBox: `0 0 ${WIDTH} ${height}`, class: 'flow', role: 'group',
    'aria-label': `${host.informers.length} informers and ${host.plugins.length} plugins` }, lines, boxes, more);
}

function busiest(all, of) {
  const sorted = [...all].sort((a, b) => of(b) - of(a));
  return { shown: sorted.slice(0, SHOWN_MAX), left: Math.max(0, all.length - SHOWN_MAX) };
}

// The resources of a plugin, each once: a subscription says more than a read.
function wanted({ subscriptions, reads }) {
  const all = new Map(reads.map(({ resource }) => [resource, true]));
  for (const { resource } of subscriptions) all.set(resource, false);
  return [...all].map(([resource, reads]) => ({ resource, reads }));
}

function link(from, to, reads, calls) {
  const [begin, end] = [BOX, WIDTH - BOX];
  const middle = (begin + end) / 2;
  const width = 1 + Math.min(5, Math.log2(1 + (calls ?? 0)));
  const kind = `link ${reads ? 'reads' : ''} ${calls > 0 && !reads ? 'busy' : ''}`;
  return svg('path', { class: kind, 'stroke-width': reads ? 1 : width,
    d: `M ${begin} ${from} C ${middle} ${from}, ${middle} ${to}, ${end} ${to}` });
}

function box(x, middle, name, state, detail, href) {
  const [top, height] = [middle - 18, 36];
  const shown = name.length > 34 ? `${name.slice(0, 33)}…` : name;
  return svg('a', { href }, svg('title', {}, name),
    svg('rect', { x: x + 1, y: top, width: BOX - 2, height, rx: 6, class: `box ${kindOf(state)}` }),
    svg('text', { x: x + 12, y: middle - 3 }, shown),
    svg('text', { x: x + 12, y: middle + 12, class: 'small' }, `${state} · ${detail}`));
}
