// The changes of one resource as they come, with the differences.

import { badge, h } from './elements.js';
import { pathOf } from './client.js';
import { differences, short } from './differences.js';
import { isWhole, resourceForm } from './objects.js';
import { clock } from './units.js';

// Changes that stay on the page, and differences of each.
const CHANGES_MAX = 200;
const DIFFERENCES_MAX = 6;
// Characters of JSON of the states that are kept to compare with. A browser takes several times as many bytes for them.
const STATES_MAX = 64 * 1024 * 1024;

export function show(host, parameters) {
  const list = h('ol', { class: 'changes', reversed: true, 'aria-live': 'off' });
  const status = h('p', { role: 'status' });
  const counter = h('p', { class: 'detail' });
  const paused = h('button', { type: 'button', 'aria-pressed': 'false', onclick: pause }, 'Pause');
  const form = resourceForm(host, parameters, 'changes');
  const element = h('div', {}, h('h1', {}, 'Changes'), form.element, h('p', {}, paused), status, counter, list);
  const { resource, namespace, labelSelector } = parameters;
  const states = new States();
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
    const before = states.take(key);
    if (change !== 'deleted') states.keep(key, object, text.length);
    // The objects of the beginning are no changes.
    if (!following) return;
    seen += 1;
    counter.textContent = `${seen} changes since ${clock(began)}.`;
    if (paused.getAttribute('aria-pressed') === 'true') return;
    list.prepend(row(resource, change, object, before));
    while (list.children.length > CHANGES_MAX) list.lastChild.remove();
  }

  const began = Date.now();
  function follow() {
    status.textContent = 'Reading the objects of the beginning…';
    stream = new EventSource(pathOf(resource, { watch: 'true', namespace, labelSelector }));
    stream.addEventListener('open', () => {
      // A stream that goes on has no objects of the beginning.
      if (following) status.textContent = 'Connected again. Changes appear here.';
    });
    // Kubernetes' word for an update is another one than the plugins'.
    for (const [type, change] of [['added', 'added'], ['modified', 'updated'], ['deleted', 'deleted']]) {
      stream.addEventListener(type, ({ data }) => take(change, data));
    }
    stream.addEventListener('bookmark', () => {
      if (!following) status.textContent = `${states.count} objects are there. Changes appear here.`;
      following = true;
    });
    // A lost connection has no data; the browser connects again by itself, unless the host refuses.
    stream.addEventListener('error', ({ data }) => {
      if (data) {
        states.clear();
        following = false;
        status.textContent = 'Changes were lost. Reading the objects again…';
      } else if (stream.readyState === EventSource.CLOSED) {
        status.textContent = 'The host does not serve this watch now. Objects shows the reason, and Show tries again.';
      } else {
        status.textContent = 'The connection is lost. Connecting again…';
      }
    });
  }
  const ended = new AbortController();
  async function begin() {
    if (!resource) {
      status.textContent = 'Choose a resource.';
      return;
    }
    try {
      if (await isWhole('changes', parameters, ended.signal)) follow();
    } catch (error) {
      if (!ended.signal.aborted) status.textContent = error.message;
    }
  }
  begin();
  const end = () => {
    ended.abort();
    stream?.close();
  };
  return { element, update: form.update, end };
}

// The newest states of objects, as long as there is room. An object without one has no differences.
class States {
  #states = new Map();
  #length = 0;

  get count() {
    return this.#states.size;
  }

  take(key) {
    const { object, length } = this.#states.get(key) ?? { length: 0 };
    this.#length -= length;
    this.#states.delete(key);
    return object;
  }

  keep(key, object, length) {
    if (this.#length + length > STATES_MAX) return;
    this.#length += length;
    this.#states.set(key, { object, length });
  }

  clear() {
    this.#states.clear();
    this.#length = 0;
  }
}

function row(resource, change, object, before) {
  const { namespace = '', name } = object.metadata;
  const found = change === 'updated' && before ? differences(before, object) : [];
  const line = ({ path, before, after }) => h('li', {}, h('code', {}, path), ': ', h('del', {}, short(before)), ' → ', h('ins', {}, short(after)));
  const left = found.length - DIFFERENCES_MAX;
  const href = `#/object?${new URLSearchParams({ resource, namespace, name })}`;
  return h('li', {}, h('span', { class: 'detail' }, clock(Date.now())), ' ', badge(change), ' ',
    h('a', { href }, namespace ? `${namespace}/${name}` : name),
    found.length > 0 && h('ul', {}, found.slice(0, DIFFERENCES_MAX).map(line), left > 0 && h('li', {}, `${left} more`)));
}
