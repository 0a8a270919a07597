// One object: which plugins were called for it and why, and its newest state.

import { badge, facts, h, json, section } from './elements.js';
import { pathOf, read } from './client.js';
import { Table } from './table.js';
import { clock, duration } from './units.js';

const EVERY_MILLISECONDS = 3000;

export function show(_, { resource = '', namespace = '', name = '' }) {
  const title = namespace ? `${namespace}/${name}` : name;
  const status = h('p', { role: 'status' }, 'Reading…');
  const at = h('p', { class: 'detail' });
  const cache = h('div');
  const answers = new Table('Why each plugin was called, or was not', [
    { name: 'Plugin', value: (plugin) => plugin.name,
      show: (plugin) => h('a', { href: `#/plugin?name=${encodeURIComponent(plugin.name)}` }, plugin.name) },
    { name: 'Answer', value: ({ answer }) => answer, show: ({ answer }) => badge(answer) },
    { name: 'Because', value: ({ because }) => because, show: ({ because }) => h('span', { class: 'reason' }, because) },
  ]);
  const deliveries = new Table('Deliveries', [
    { name: 'When', value: ({ at }) => at, show: ({ at }) => clock(at) },
    { name: 'Plugin', value: ({ plugin }) => plugin },
    { name: 'Event', value: ({ change, resourceVersion, reason }) => `${change} ${resourceVersion} (${reason})` },
    { name: 'End', value: ({ end }) => end, show: ({ end }) => badge(end) },
    { name: 'Waited', number: true, value: ({ waitedSeconds }) => waitedSeconds, show: ({ waitedSeconds }) => duration(waitedSeconds) },
    { name: 'Took', number: true, value: ({ seconds }) => seconds, show: ({ seconds }) => duration(seconds) },
    { name: 'Detail', value: ({ error, wrote }) => error ?? wrote ?? '',
      show: ({ error, wrote }) => h('span', { class: 'reason' }, error ?? (wrote ? `wrote ${wrote}` : '')) },
  ], 0, true);
  const state = h('div');
  const element = h('div', {}, h('h1', {}, title), h('p', {}, resource), status, at, cache, answers.element(), deliveries.element(),
    section('Newest state', state));
  const ended = new AbortController();
  let version = null;

  async function look() {
    const why = await read(`/why?${new URLSearchParams({ kind: resource, namespace, name })}`, ended.signal);
    status.textContent = '';
    at.textContent = `As of ${clock(why.at)}.`;
    cache.replaceChildren(facts([['In the cache', why.cache.state], ['resourceVersion', why.cache.resourceVersion],
      ['Informer', why.cache.informer], ['Message', why.cache.message], ['Nearest name', why.cache.nearest]]));
    answers.rows(why.plugins);
    deliveries.rows(why.plugins.flatMap((plugin) => plugin.deliveries.map((delivery) => ({ ...delivery, plugin: plugin.name }))));
    // The state is drawn anew only when it is another one, so that a reader keeps the place.
    if (why.cache.state === 'present' && why.cache.resourceVersion !== version) {
      const page = await read(pathOf(why.resource, { namespace: why.namespace, name }), ended.signal);
      if (page.msg.length > 0) {
        version = page.msg[0].metadata.resourceVersion;
        state.replaceChildren(json(page.msg[0]));
      }
    }
  }

  async function run() {
    while (!ended.signal.aborted) {
      // A page that nobody sees asks nothing.
      if (!document.hidden) {
        await look().catch((error) => {
          if (!ended.signal.aborted) status.textContent = error.message;
        });
      }
      await new Promise((resolve) => setTimeout(resolve, EVERY_MILLISECONDS));
    }
  }
  run();
  return { element, end: () => ended.abort() };
}
