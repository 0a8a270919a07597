// All informers in a table.

import { badge, h } from './elements.js';
import { Table } from './table.js';
import { bytes, count, duration, rate } from './units.js';

export function show() {
  let host = { plugins: [] };
  const changes = ({ resource }) => host.history.informerRate(resource);
  const wants = (resource) => ({ subscriptions, reads }) => [...subscriptions, ...reads].some((view) => view.resource === resource);
  const readers = ({ resource }) => host.plugins.filter(wants(resource)).length;
  const link = (view, resource, text) => h('a', { href: `#/${view}?resource=${encodeURIComponent(resource)}` }, text);
  const table = new Table('Informers', [
    { name: 'Resource', value: ({ resource }) => resource, show: ({ resource }) => link('changes', resource, resource) },
    { name: 'State', value: ({ state }) => state, show: ({ state, message }) => [badge(state), ' ', message ?? ''] },
    { name: 'Content', value: ({ metadataOnly }) => (metadataOnly ? 'metadata only' : 'whole objects') },
    { name: 'Plugins', number: true, value: readers },
    { name: 'Objects', number: true, value: ({ objects }) => objects,
      show: ({ resource, objects }) => link('objects', resource, count(objects)) },
    { name: 'Size', number: true, value: (informer) => informer.bytes, show: (informer) => bytes(informer.bytes) },
    { name: 'Changes', number: true, value: changes, show: (informer) => rate(changes(informer)) },
    { name: 'Last event', number: true, value: ({ lastEventAgeSeconds }) => lastEventAgeSeconds,
      show: ({ lastEventAgeSeconds }) => duration(lastEventAgeSeconds) },
    { name: 'Lists', number: true, value: ({ lists }) => lists },
    { name: 'Failures', number: true, value: ({ failures }) => failures },
  ]);
  return {
    element: h('div', {}, h('h1', {}, 'Informers'), table.element()),
    update(newest) {
      host = newest;
      table.rows(host.informers);
    },
  };
}
