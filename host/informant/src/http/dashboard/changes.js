// The changes of one resource as they come, with the differences.

import { badge, h } from './elements.js';
import { pathOf } from './client.js';
import { differences, short } from './differences.js';
import { resourceForm } from './objects.js';
import { clock } from './units.js';

// Changes that stay on the page, differences of each, and states that are kept to compare with.
const CHANGES_MAX = 200;
const DIFFERENCES_MAX = 6;
const STATES_MAX = 20000;

export function show(host, parameters) {
  const list = h('ol', { class: 'changes', reversed: true, 'aria-live': 'off' });
  const status = h('p', { role: 'status' });
  const paused = h('button', { type: 'button', 'aria-pressed': 'false', onclick: pause }, 'Pause');
  const form = resourceForm(host, parameters, 'changes');
  const element = h('div', {}, h('h1', {}, 'Changes'), form.element, h('p', {}, paused), status, list);
  const { resource, namespace, labelSelector } = parameters;
  const states = new Map();
  let stream = null;
  let following = false;
  let seen = 0;

  function pause() {
    const is = paused.getAttribute('aria-pressed') === 'true';
    paused.setAttribute('aria-pressed', String(!is));
    paused.textContent = is ? 'Pause' : 'Go on';
  }

  function take(change, text) {
    const object = JSON.parse(text);
    const { namespace = '', name } = object.metadata;
    const key = `${namespace}/${name}`;
    const before = states.get(key);
    if (change === 'deleted') states.delete(key);
    else if (states.size < STATES_MAX || before) states.set(key, object);
    // The objects of the beginning are no changes.
    if (!following) return;
    seen += 1;
    status.textContent = `${seen} changes since ${clock(began)}.`;
    if (paused.getAttribute('aria-pressed') === 'true') return;
    list.prepend(row(resource, change, object, before));
    while (list.children.length > CHANGES_MAX) list.lastChild.remove();
  }

  const began = Date.now();
  if (resource) {
    status.textContent = 'Reading the objects of the beginning…';
    stream = new EventSource(pathOf(resource, { watch: 'true', namespace, labelSelector }));
    for (const change of ['added', 'modified', 'deleted']) stream.addEventListener(change, ({ data }) => take(change, data));
    stream.addEventListener('bookmark', () => {
      if (!following) status.textContent = `${states.size} objects are there. Changes appear here.`;
      following = true;
    });
    // A lost connection has no data; the browser connects again by itself, unless the host refuses.
    stream.addEventListener('error', ({ data }) => {
      if (data) {
        states.clear();
        following = false;
        status.textContent = 'Changes were lost. Reading the objects again…';
      } else if (stream.readyState === EventSource.CLOSED) {
        status.textContent = `The host refuses to watch ${resource}. Objects and Informers show the reason.`;
      } else {
        status.textContent = 'The connection is lost. Connecting again…';
      }
    });
  } else {
    status.textContent = 'Choose a resource.';
  }
  return { element, update: form.update, end: () => stream?.close() };
}

function row(resource, change, object, before) {
  const { namespace = '', name } = object.metadata;
  const found = change === 'modified' && before ? differences(before, object) : [];
  const line = ({ path, before, after }) => h('li', {}, h('code', {}, path), ': ', h('del', {}, short(before)), ' → ', h('ins', {}, short(after)));
  const left = found.length - DIFFERENCES_MAX;
  const href = `#/object?${new URLSearchParams({ resource, namespace, name })}`;
  return h('li', {}, h('span', { class: 'detail' }, clock(Date.now())), ' ', badge(change), ' ',
    h('a', { href }, namespace ? `${namespace}/${name}` : name),
    found.length > 0 && h('ul', {}, found.slice(0, DIFFERENCES_MAX).map(line), left > 0 && h('li', {}, `${left} more`)));
}
