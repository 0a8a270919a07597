// The objects of one resource, a page at a time.

import { h } from './elements.js';
import { pathOf, read, resourceOf } from './client.js';
import { Table } from './table.js';
import { ago } from './units.js';

const PAGE = 200;
const FIELDS = ['metadata.name', 'metadata.namespace', 'metadata.creationTimestamp', 'metadata.labels', 'status.phase'].join(',');

// The form that chooses a resource, a namespace and labels for a view.
export function resourceForm(host, parameters, view) {
  const names = h('datalist', { id: 'resources' });
  const field = (id, title, list) => [h('label', { for: id }, title),
    h('input', { id, name: id, value: parameters[id] ?? '', list, autocomplete: 'off' })];
  function choose(event) {
    event.preventDefault();
    const chosen = [...new FormData(element)].filter(([, value]) => value);
    const next = `#/${view}?${new URLSearchParams(chosen)}`;
    // The same again reads again.
    if (location.hash === next) window.dispatchEvent(new Event('hashchange'));
    else location.hash = next;
  }
  const element = h('form', { onsubmit: choose }, field('resource', 'Resource', 'resources'), names, field('namespace', 'Namespace'),
    field('labelSelector', 'Labels'), h('button', { type: 'submit' }, 'Show'));
  // Until somebody writes into it, the first informer's resource stands there.
  const chosen = element.elements.namedItem('resource');
  let isOpen = !parameters.resource;
  chosen.addEventListener('input', () => { isOpen = false; });
  const update = ({ informers }) => {
    const known = informers.map(({ resource }) => resource);
    if (isOpen) chosen.value = known[0] ?? '';
    if (names.children.length !== known.length) names.replaceChildren(...known.map((value) => h('option', { value })));
  };
  update(host);
  return { element, update };
}

// Whether the parameters have the whole name of a resource. A word for it, like `pods`, leads to the address with the whole name.
export async function isWhole(view, parameters, signal) {
  const resource = await resourceOf(parameters.resource, signal);
  const is = resource === parameters.resource;
  if (!is && !signal.aborted) location.replace(`#/${view}?${new URLSearchParams({ ...parameters, resource })}`);
  return is && !signal.aborted;
}

export function show(host, parameters) {
  const { resource, namespace, labelSelector, from } = parameters;
  const form = resourceForm(host, parameters, 'objects');
  const status = h('p', { role: 'status' });
  const next = h('p');
  const labels = ({ metadata }) => Object.entries(metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(', ');
  const link = ({ metadata: { namespace = '', name } }) =>
    h('a', { href: `#/object?${new URLSearchParams({ resource, namespace, name })}` }, name);
  const table = new Table(resource ?? 'Objects', [
    { name: 'Name', value: ({ metadata }) => metadata.name, show: link },
    { name: 'Namespace', value: ({ metadata }) => metadata.namespace ?? '' },
    { name: 'Phase', value: ({ status }) => status?.phase ?? '' },
    { name: 'Age', number: true, value: ({ metadata }) => Date.now() - Date.parse(metadata.creationTimestamp),
      show: ({ metadata }) => ago(metadata.creationTimestamp) },
    { name: 'Labels', value: labels, show: (object) => h('span', { class: 'detail' }, labels(object)) },
  ], 1);
  const element = h('div', {}, h('h1', {}, 'Objects'), form.element, status, table.element(), next);
  const ended = new AbortController();
  async function load() {
    if (!resource) {
      status.textContent = 'Choose a resource.';
      return;
    }
    status.textContent = 'Reading…';
    try {
      if (!await isWhole('objects', parameters, ended.signal)) return;
      const page = await read(pathOf(resource, { limit: PAGE, fields: FIELDS, namespace, labelSelector, continue: from }), ended.signal);
      status.textContent = `${page.msg.length} objects${from ? ' on this page' : ''}${page.continue ? ', and more behind them' : ''}.`;
      table.rows(page.msg);
      const more = new URLSearchParams({ ...parameters, from: page.continue });
      next.replaceChildren(page.continue ? h('a', { href: `#/objects?${more}` }, 'Next page') : '');
    } catch (error) {
      if (!ended.signal.aborted) status.textContent = error.message;
    }
  }
  load();
  return { element, update: form.update, end: () => ended.abort() };
}
