// All plugins in a table.

import { badge, h } from './elements.js';
import { waitingOf } from './history.js';
import { Table } from './table.js';
import { bytes, count, duration, rate, share } from './units.js';

export function show() {
  let host = { plugins: [] };
  const rateOf = (number) => ({ name }) => host.history.pluginRate(name, number);
  const table = new Table('Plugins', [
    { name: 'Plugin', value: ({ name }) => name,
      show: ({ name }) => h('a', { href: `#/plugin?name=${encodeURIComponent(name)}` }, name) },
    { name: 'State', value: ({ state }) => state, show: ({ state }) => badge(state) },
    // Before the numbers: where the table is wider than the page, they are what is out of sight.
    { name: 'Why it does not work', value: ({ why }) => why[0] ?? '', show: ({ why }) => h('span', { class: 'reason' }, why[0] ?? '') },
    { name: 'Version', value: ({ version }) => version ?? '–' },
    { name: 'Calls', number: true, value: rateOf('calls'), show: (plugin) => rate(rateOf('calls')(plugin)) },
    { name: 'Time of a call', number: true, value: ({ name }) => host.history.callSeconds(name),
      show: ({ name }) => duration(host.history.callSeconds(name)) },
    { name: 'Latency, 99th percentile', number: true, value: ({ name }) => host.history.latency(name, 0.99),
      show: ({ name }) => duration(host.history.latency(name, 0.99)) },
    { name: 'Processor', number: true, value: rateOf('processor'), show: (plugin) => share(rateOf('processor')(plugin)) },
    { name: 'Memory', number: true, value: ({ account }) => account.memoryBytes, show: ({ account }) => bytes(account.memoryBytes) },
    { name: 'Waiting', number: true, value: waitingOf, show: (plugin) => count(waitingOf(plugin)) },
    { name: 'Failed', number: true, value: rateOf('failed'), show: (plugin) => rate(rateOf('failed')(plugin)) },
    { name: 'Dead letters', number: true, value: ({ deadLetters }) => deadLetters },
  ]);
  const filter = h('input', { type: 'search', id: 'filter', oninput: draw });
  const none = h('p', { hidden: true }, 'There is no plugin. Put a .wasm file into the plugin directory.');
  const element = h('div', {}, h('h1', {}, 'Plugins'), h('p', {}, h('label', { for: 'filter' }, 'Filter by name or state '), filter),
    none, table.element());
  function draw() {
    const word = filter.value.toLowerCase();
    const matches = ({ name, state }) => `${name} ${state}`.toLowerCase().includes(word);
    table.rows(host.plugins.filter(matches));
    none.hidden = host.plugins.length > 0;
  }
  return {
    element,
    update(newest) {
      host = newest;
      draw();
    },
  };
}
