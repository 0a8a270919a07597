// The first page: what needs attention, how much flows, and between what.

import { badge, h, isInUse, section, tile, tiles } from './elements.js';
import { flow } from './flow.js';
import { ofAllInformers, ofAllPlugins } from './history.js';
import { plot } from './plot.js';
import { bytes, count, rate, share } from './units.js';

const ATTENTION_MAX = 20;

export function show() {
  const numbers = h('div');
  const attention = h('div');
  const picture = h('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'The flow' });
  const plots = h('div', { class: 'plots' });
  const element = h('div', {}, h('h1', {}, 'Overview'), numbers, section('Needs attention', attention),
    section('Flow', picture, h('p', { class: 'detail' },
      'A line leads from an informer to each plugin with a subscription. A dashed line is a resource that a plugin only reads.')),
    section('The last minutes', plots));
  return {
    element,
    update(host) {
      numbers.replaceChildren(summary(host));
      if (!isInUse(attention)) attention.replaceChildren(...needsAttention(host));
      if (!isInUse(picture)) picture.replaceChildren(flow(host));
      plots.replaceChildren(...all(host.history));
    },
  };
}

function summary({ plugins, informers, history }) {
  const running = plugins.filter(({ state }) => state === 'running').length;
  const synced = informers.filter(({ state }) => state === 'synced').length;
  const sum = (of) => of.reduce((all, value) => all + value, 0);
  const [calls, events] = [plugins.map(({ name }) => history.pluginRate(name, 'calls') ?? 0),
    informers.map(({ resource }) => history.informerRate(resource) ?? 0)];
  return tiles(
    tile('Plugins that run', `${running} of ${plugins.length}`),
    tile('Informers in sync', `${synced} of ${informers.length}`),
    tile('Objects', count(sum(informers.map(({ objects }) => objects))), bytes(sum(informers.map((informer) => informer.bytes)))),
    tile('Changes', rate(sum(events))),
    tile('Calls', rate(sum(calls))),
    tile('Dead letters', count(sum(plugins.map(({ deadLetters }) => deadLetters)))),
  );
}

function needsAttention({ plugins, informers, problems, ready }) {
  const lines = [
    ...(ready && !ready.passes ? [[badge('failed'), h('a', { href: '#/health' }, 'not ready'),
      ready.lines.filter((line) => line.startsWith('[-]')).join('; ')]] : []),
    ...plugins.filter(({ why }) => why.length > 0).map(({ name, state, why }) =>
      [badge(state), h('a', { href: `#/plugin?name=${encodeURIComponent(name)}` }, name), why[0]]),
    ...informers.filter(({ state }) => state !== 'synced').map(({ resource, state, message }) =>
      [badge(state), h('a', { href: '#/informers' }, resource), message ?? '']),
    ...problems.map(({ path, text }) => [badge('failed'), h('a', { href: '#/health' }, path), text]),
  ];
  if (lines.length === 0) return [h('p', { class: 'calm' }, 'Nothing.')];
  const left = lines.length - ATTENTION_MAX;
  const item = ([state, name, text]) => h('li', {}, state, ' ', name, ' ', h('span', { class: 'reason' }, text));
  return [h('ul', { class: 'attention' }, lines.slice(0, ATTENTION_MAX).map(item)),
    left > 0 && h('p', { class: 'detail' }, `${left} more: see Plugins, Informers and Health.`)].filter(Boolean);
}

function all(history) {
  return [
    plot('Changes', history.series(ofAllInformers, true), rate),
    plot('Calls', history.series(ofAllPlugins('calls'), true), rate),
    plot('Processor', history.series(ofAllPlugins('processor'), true), share),
    plot('Memory', history.series(ofAllPlugins('memory'), false), bytes),
    plot('Waiting', history.series(ofAllPlugins('waiting'), false), count),
  ];
}
