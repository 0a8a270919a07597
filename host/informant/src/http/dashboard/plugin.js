// One plugin.

import { Actions } from './actions.js';
import { badge, facts, h, isInUse, json, section, tile, tiles } from './elements.js';
import { waitingOf } from './history.js';
import { Letters } from './letters.js';
import { Log } from './log.js';
import { plot } from './plot.js';
import { Table } from './table.js';
import { ago, bytes, count, duration, rate, share } from './units.js';

const ERRORS = [['lastError', 'Last error'], ['lastFilterError', 'Last error of a filter']];

export function show(host, { name }) {
  const head = h('div');
  const top = h('div');
  const rest = h('div');
  const views = new Table('Subscriptions and reads', [
    { name: 'Resource', value: ({ resource }) => resource,
      show: ({ resource }) => h('a', { href: `#/changes?resource=${encodeURIComponent(resource)}` }, resource) },
    { name: 'Use', value: ({ use }) => use },
    {
      name: 'Namespaces',
      value: ({ namespaces, namespaceSelector }) => [namespaces.join(', ') || 'all', namespaceSelector].filter(Boolean).join(' with '),
    },
    { name: 'Informer', value: ({ informer }) => informer?.state ?? 'absent',
      show: ({ informer }) => [badge(informer?.state ?? 'absent'), ' ', informer?.message ?? ''] },
  ]);
  let isOpen = true;
  const log = new Log(name ?? '');
  const actions = new Actions(name ?? '', host.again, () => isOpen && view.update(host));
  const letters = new Letters(name ?? '', host.again);
  const raw = h('div');
  const all = h('details', {}, h('summary', {}, 'All that /plugins says'), raw);
  const element = h('div', {}, h('h1', {}, name ?? 'A plugin'), head, actions.element, top, letters.element, log.element, views.element(), rest, all);
  const view = {
    element,
    update(host) {
      const plugin = host.plugins.find((plugin) => plugin.name === name);
      log.update(plugin !== undefined);
      actions.update(plugin);
      letters.update(plugin, actions.permitted);
      if (!plugin) {
        head.replaceChildren(h('p', { class: 'notice' }, 'The host has no plugin of this name.'));
        top.replaceChildren();
        views.rows([]);
        rest.replaceChildren();
        return;
      }
      head.replaceChildren(state(plugin));
      top.replaceChildren(numbers(plugin, host.history), plots(plugin.name, host.history));
      views.rows([
        ...plugin.subscriptions.map((view) => ({ ...view, use: view.name === view.resource ? 'subscription' : `subscription ${view.name}` })),
        ...plugin.reads.map((view) => ({ ...view, use: 'reads' })),
      ]);
      if (!isInUse(rest)) rest.replaceChildren(...details(plugin));
      if (all.open && !isInUse(raw)) raw.replaceChildren(json(plugin));
    },
    end() {
      isOpen = false;
      log.end();
    },
  };
  return view;
}

function state({ state, since, version, why, sha256 }) {
  return h('div', {},
    h('p', {}, badge(state), ` for ${ago(since)}`, version && `, version ${version}`, sha256 && `, file ${sha256.slice(0, 12)}`),
    why.length > 0 && h('ul', { class: 'attention' }, why.map((text) => h('li', { class: 'reason' }, text))));
}

function numbers(plugin, history) {
  const { name, counters, account, queue, workqueue, timers, deadLetters } = plugin;
  const age = Math.max(queue.ageSeconds ?? 0, workqueue.ageSeconds ?? 0, timers.ageSeconds ?? 0);
  return tiles(
    tile('Calls', rate(history.pluginRate(name, 'calls'))),
    tile('Time of a call', duration(history.callSeconds(name))),
    tile('Latency', duration(history.latency(name, 0.5)),
      `median from change to end of call; 99th percentile ${duration(history.latency(name, 0.99))}`),
    tile('Processor', share(history.pluginRate(name, 'processor'))),
    tile('Memory', bytes(account.memoryBytes), account.memoryBytesMax && `of ${bytes(account.memoryBytesMax)} that the host may hold for it`),
    tile('Waiting', count(waitingOf(plugin)), age > 0 && `for up to ${duration(age)}`),
    tile('Dead letters', count(deadLetters), deadLetters > 0 && 'see below'),
    tile('Reloads', count(counters.reloads), counters.failedReloads > 0 && `${counters.failedReloads} refused`),
  );
}

function plots(name, history) {
  const of = (number) => (sample) => sample.plugins.get(name)?.[number];
  return h('div', { class: 'plots' },
    plot('Calls', history.series(of('calls'), true), rate),
    plot('Failed calls', history.series(of('failed'), true), rate),
    plot('Latency, 99th percentile', history.latencies(name, 0.99), duration),
    plot('Processor', history.series(of('processor'), true), share),
    plot('Memory', history.series(of('memory'), false), bytes),
    plot('Waiting', history.series(of('waiting'), false), count));
}

function details(plugin) {
  const errors = ERRORS.filter(([key]) => plugin[key]).map(([key, title]) => section(title, json(plugin[key])));
  const memory = Object.entries(plugin.account.memory).filter(([, value]) => value > 0);
  const counters = Object.entries(plugin.counters).filter(([, value]) => typeof value === 'number' && value > 0);
  return [
    ...errors,
    plugin.schedules.length > 0 && section('Schedules', json(plugin.schedules)),
    plugin.lastLoad && section('Last load', facts([['Result', plugin.lastLoad.result], ['Reason', plugin.lastLoad.reason],
      ['When', `${ago(plugin.lastLoad.at)} ago`], ['File', plugin.lastLoad.sha256]])),
    section('Memory', facts(memory.map(([part, value]) => [words(part), bytes(value)]))),
    section('Since the host started', facts(counters.map(([part, value]) => [words(part), count(value)]))),
  ].filter(Boolean);
}

// `keysRetry` is "keys retry".
function words(name) {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
