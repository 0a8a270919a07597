// The dead letters of one plugin, to be sent again or deleted.

import { Outcome, confirmed } from './actions.js';
import { act, readOfPlugin } from './client.js';
import { badge, h, section } from './elements.js';
import { ago } from './units.js';

const LETTERS_MAX = 100;
const [REDRIVE, PURGE] = ['dead-letters/redrive', 'dead-letters/purge'];

export class Letters {
  #plugin;
  #outcome;
  // By their numbers, as they are drawn.
  #rows = new Map();
  #list = h('ol', { class: 'letters' });
  #note = h('p', { class: 'detail' });
  #all;
  #permitted = [];
  // What the list was read for: the numbers that change with the letters.
  #known = '';
  // Counts the readings: the answer to an older one is not drawn.
  #readings = 0;

  // `done` is called once the host has changed something.
  constructor(plugin, done) {
    this.#plugin = plugin;
    this.#outcome = new Outcome(() => {
      this.#known = '';
      done();
    });
    const button = (title, action, asked) => h('button', { type: 'button', value: action, onclick: asked }, title);
    this.#all = h('div', { class: 'buttons' },
      button('Send all again', REDRIVE, () => this.#act(REDRIVE, 'all dead letters', { all: true })),
      button('Delete all…', PURGE, () => this.#act(PURGE, 'all dead letters', { all: true })));
    this.element = section('Dead letters', this.#all, this.#note, this.#outcome.element, this.#list);
    this.element.hidden = true;
  }

  update(plugin, permitted) {
    this.element.hidden = !plugin;
    if (!plugin) return;
    const { deadLetters, counters, queue } = plugin;
    this.#permit(permitted, deadLetters > 0);
    const known = JSON.stringify([deadLetters, counters.dead, queue.depth === 0, permitted]);
    if (known === this.#known) return;
    this.#known = known;
    const reading = this.#readings += 1;
    const newest = (then) => (value) => reading === this.#readings && then(value);
    if (deadLetters === 0) {
      this.#draw([]);
      this.#note.textContent = 'There are none. An event that fails all its attempts becomes one.';
      return;
    }
    readOfPlugin(this.#plugin, `dead-letters?limit=${LETTERS_MAX}`).then(
      newest((letters) => {
        this.#draw(letters);
        const left = deadLetters - letters.length;
        this.#note.textContent = left > 0 ? `The oldest ${letters.length} of ${deadLetters} are shown.` : '';
      }),
      newest((error) => {
        this.#draw([]);
        this.#note.textContent = error.message;
      }));
  }

  #permit(permitted, areThere) {
    this.#permitted = permitted;
    for (const button of this.element.querySelectorAll('button')) button.hidden = !permitted.includes(button.value);
    this.#all.hidden = !areThere || ![REDRIVE, PURGE].some((action) => permitted.includes(action));
  }

  // Rows of letters that stay are not touched, so that a button keeps the focus.
  #draw(letters) {
    const ids = new Set(letters.map(({ id }) => id));
    const focused = [...this.#rows.values()].findIndex((row) => row.contains(document.activeElement));
    const isLost = focused >= 0 && !ids.has([...this.#rows.keys()][focused]);
    for (const [id, row] of this.#rows) {
      if (ids.has(id)) continue;
      row.remove();
      this.#rows.delete(id);
    }
    for (const letter of letters) {
      if (this.#rows.has(letter.id)) continue;
      const row = this.#row(letter);
      this.#rows.set(letter.id, row);
      this.#list.append(row);
    }
    this.#list.hidden = letters.length === 0;
    // The letter with the focus is gone: the next one has it, or the result.
    if (isLost) {
      const next = [...this.#rows.values()][focused];
      (next?.querySelector('button:not([hidden])') ?? this.#outcome.element).focus();
    }
  }

  #row({ id, change, resource, namespace, name, attempts, at, error }) {
    const href = `#/object?${new URLSearchParams({ resource, namespace, name })}`;
    const button = (title, action, label) => h('button', { type: 'button', value: action, 'aria-label': label,
      hidden: !this.#permitted.includes(action),
      onclick: () => this.#act(action, `dead letter ${id}`, { ids: [id] }) }, title);
    return h('li', {}, h('div', {}, h('span', { class: 'detail' }, `${id}`), ' ', badge(change), ' ',
      h('a', { href }, namespace ? `${namespace}/${name}` : name), ' ',
      h('span', { class: 'detail' }, `${resource}, attempt ${attempts}, ${ago(at)} ago`), h('p', { class: 'reason' }, error)),
    h('div', { class: 'buttons' }, button('Send again', REDRIVE, `Send again: dead letter ${id}`),
      button('Delete…', PURGE, `Delete… dead letter ${id}`)));
  }

  async #act(action, words, letters) {
    if (action === PURGE) {
      const detail = letters.all ? 'Their events are lost. The plugin does not get them again.'
        : 'Its event is lost. The plugin does not get it again.';
      if (!await confirmed(`Delete ${words} of ${this.#plugin}?`, detail, 'Delete')) return;
    }
    await this.#outcome.of(`Asking for ${words}…`, () => act(this.#plugin, action, letters));
  }
}
